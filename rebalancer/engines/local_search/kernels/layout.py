"""The flat arrays that kernels read and write: what each number of a row means."""

from __future__ import annotations

from dataclasses import dataclass

from rebalancer.engines.local_search.kernels.addresses import Arrays, Float64, Int32, Int64, table_of

# Columns, pieces, stages, specials and memberships are rows of one array each. Everywhere, such a row is meant by where
# it begins: number ``C_ITEMS`` of column ``k`` is ``columns[k + C_ITEMS]``.

#: A row of ``columns``.
(
    C_VALUES,  # where its values begin in ``values``; -1: in the hash rows
    C_GROUPS,
    C_ITEMS,
    C_ITEM_OF,  # where ``item_of`` begins in ``maps`` (tallies)
    C_CONDITION,  # where the condition of its exceptions begins in ``maps``
    C_RECORDS,  # where its records begin in ``words``
    C_ROW_STEP,  # words from one group's records to the next; 0: all groups share one
    C_CLASS,  # where the record of each item begins in ``maps``; -1: all share one, -2: one each
    C_WORDS,  # words per record
    C_EXCEPT,  # where the pointers to exceptional records begin in ``maps``, by group; -1: none
    C_LOW,  # word of the lower bound in a record; -1: none
    C_HIGH,
    C_PIECE,  # its pieces
    C_PIECE_END,
    C_USE,  # the specials that read it
    C_USE_END,
    C_HASH,  # where its hash rows begin in ``hash_rows``
    C_FLAT,  # 1: all containers are in the same item
    C_SIZE,  # number of cells
    C_RANK,  # its turn among the memberships of an object (tallies)
    C_MAKER,  # the special whose output it is; -1: none
    C_LANE,  # its lanes; -1: none
    C_LANE_END,
    C_RISING,  # 1: more of it never makes a piece smaller, and is never negative
    C_PLAIN,  # 1: what it does is to single cells, and its lanes, or its coefficients, say exactly what
    C_BARE,  # 1: also cells that hold nothing may be beyond their bounds
    C_INSIDE,  # where in ``maps`` it says which containers are in each item (see `kernels.pull`); -1: nowhere
    C_WITHIN,  # the same of the items of exceptional weights
    C_SPECIAL,  # where in ``maps`` it says which cells of each group have unusual records; -1: none has
    C_COMMON,  # and which items have for all groups
    C_MEETS,  # 1: who else of a group is in an item may be a reason to go there
    C_WISH,  # where in ``wish`` its groups begin; -1: nowhere
    C_GROWS,  # 1: more of a tally never makes a piece smaller; 2: nobody weighs anything in it but at home
    C_EXTREME,  # 1: specials take the largest or smallest of its cells, which is asked as it is at any moment
    C_ENDS,  # 1: no tally, without limits, and all that its cells do is add to single ones
) = range(35)
C_WIDTH = 35

#: A row of ``pieces``.
(
    P_TARGET,
    P_GROUP,  # 0: to group 0, 1: to its own, 2: by map
    P_GROUP_MAP,
    P_ITEM,
    P_ITEM_MAP,
    P_STAGE,
    P_STAGE_END,
    P_COEF_WORD,  # word of the coefficient in a record; -1: constant
    P_COEF,
    P_INDEX_WORD,  # word of the cell of the target, instead of the maps; -1: none
    P_FAN,  # 1: that word says where in ``maps`` their number stands, and then they
    P_SPREAD,  # 1: to all groups, 2: to all items, 3: both
    P_SPREAD_COEF,  # where the coefficients of the target's cells begin in ``spread``; -1: P_COEF
    P_SOURCE,
    P_SINGLE,  # 1: the target has one cell
    P_SUM,  # 1: adds alike from whatever item, so nothing of an object that only goes from one to another
    P_BENT,  # 1: each item adds to one cell of its own that has functions which bend: scans compute them as well
    P_ONCE,  # 1: and that is one function which bends once, of a sum
    P_FALLS,  # 1: some cell gets the less the more its function is
) = range(19)
P_WIDTH = 19

#: A row of ``stages``: the function, word (-1: constant) and constant of its numbers, and the divisor as a power of two
#: (-1: it is none), as a division takes as long as all the rest.
S_FUNCTION, S_ALPHA_WORD, S_ALPHA, S_CONST_WORD, S_CONST, S_DIVISOR_WORD, S_DIVISOR, S_SHIFT = range(8)
S_WIDTH = 8
F_IDENTITY, F_HINGE, F_STEP, F_SQUARE, F_CEIL, F_MOD, F_ROUND = range(7)

#: A row of ``specials``.
(
    X_KIND,
    X_OUTPUT,
    X_INPUTS,  # its inputs in ``maps``
    X_INPUTS_END,
    X_NUMBER,  # divisor, factor or rank
    X_PLACE,  # where the position of each input cell begins in ``spots``; -1: in `ranks`, by the maps
    X_TREES,  # where the start of each output's numbers begins in ``spots``; of `ranks` in ``numbers``
    X_GROUP_MAP,  # of `ranks`: where the output group of each input group begins in ``maps``
    X_ITEM_MAP,
    X_GROUP_COUNT,  # and how many input groups each output group has
    X_ITEM_COUNT,
    X_HEADS,  # the column that says where what `ranks` know of each output begins; -1: one after the other
) = range(12)
X_WIDTH = 12
K_LARGEST_OF, K_SMALLEST_OF, K_PRODUCT, K_RATIO, K_MAX, K_MIN, K_NTH, K_REST = range(8)

#: What is in ``counts``.
N_BROKEN, N_APPLIED, N_LEANING = range(3)
N_WIDTH = 4

#: A row of ``rows``: column, group, first exception and number of exceptions of one membership.
R_COLUMN, R_GROUP, R_EXCEPT, R_EXCEPTS = range(4)
R_WIDTH = 4

#: What is in ``sizes``.
Z_OBJECTS, Z_CONTAINERS, Z_COLUMNS, Z_PIECES, Z_SPECIALS, Z_SINGLES, Z_HEAD, Z_POSITIONS, Z_VALUES = range(9)
Z_LANES, Z_ALIKE, Z_PLAIN = 9, 10, 11

# What there is of each lane and container: its value, the bound that must hold, the bound that has a price and what one
# unit beyond costs, where the line bends, its slope before, what is added to the slope there, and what is paid at once.
L_VALUE, L_WALL, L_EDGE, L_FINE, L_KNEE, L_BASE, L_RATE, L_JUMP = range(8)
L_WIDTH = 8


# The same of a lane of a plain tally, exactly: its value, the bound if it is the first lane of that, and its piece as
# coefficient · max(floor, α · value + const).
E_VALUE, E_HIGH, E_ALPHA, E_CONST, E_FLOOR, E_COEF = range(6)
E_WIDTH = 6
#: Of each plain lane: its tally, where the values of that begin, and the single cell that its piece adds into.
Y_COLUMN, Y_VALUES, Y_TARGET = range(3)
Y_WIDTH = 3
#: A floor that nothing is below, and a bound that nothing is above.
BOTTOM, TOP = -(2**62), 2**62


#: Of ``spare``.
UNKNOWN = -1.0


@dataclass(frozen=True, eq=False)
class Flat(Arrays):
    """A model and an assignment. The first part never changes; the second is one searcher's own.

    Arrays have one axis, and are int64 unless said otherwise. Kernels hand each other the address of their
    table.
    """

    sizes: Int64
    columns: Int64
    pieces: Int64
    stages: Int64
    specials: Int64
    uses: Int64  # specials that read each column
    maps: Int32
    words: Int64  # each searcher has its own: bounds are among them, and may be relaxed
    spread: Int64
    spots: Int64
    object_rows: Int64  # where the memberships of each object begin in ``rows``; objects + 1
    rows: Int32
    weights: Int64  # of memberships
    except_item: Int32
    except_weight: Int64
    singles: Int64  # columns of one cell, in order
    objectives: Int64  # column of each tuple position
    head: Int64  # in pairs: pieces that round what an objective adds up, and its tuple position
    head_weight: Float64  # what one rounded unit of each is worth
    hash_rows: Int64  # where each hash row begins
    home: Int32  # initial container of each object; number of containers: unplaced
    native: Int32  # objects in the order of their homes
    first_native: Int64  # where those of each home begin; containers + 2
    scan_rows: Int64  # where the memberships of each object begin that are not in lanes; objects
    loose_rows: Int64  # where those begin that are not in plain lanes; objects
    plain: Int64  # Y_WIDTH and plain lane, which come first
    lane_weight: Float64  # of each object in each lane, away from where it started and there; zeros at the end
    alike: Int32  # Z_ALIKE objects of each that weigh about the same
    # -- one searcher's own
    values: Int64
    hash_key: Int32
    hash_value: Int64
    place: Int32  # container of each object
    spare: Float64  # the most that each can gain outside lanes; UNKNOWN since it moved, or slopes are new
    pending: Int64  # what each column of one cell has yet to take in, at its beginning
    stack: Int64  # changes that have yet to be made, in fours
    counts: Int64  # N_WIDTH
    broken: Int64  # amount beyond bounds, at each column's beginning
    paid: Int64  # of rising columns, how many cells have a piece that is not 0, and then 1 if more may be worth having;
    # of tallies, then 1 if somebody may gain there by coming, other than home, as far as is known, and 1 if it may draw
    numbers: Int64  # trees, sorted rows and `ranks` of specials
    gradient: Float64  # by value
    piece_gradient: Float64  # what one unit more of each piece is worth, at its beginning
    lean: Float64  # at the beginning of columns of one cell: what a unit is worth beyond what it is (N_LEANING)
    penalty: Float64  # at each column's beginning: price of one unit beyond its bounds; infinite: forbidden
    first: Int32  # first object of each container (+ unplaced), -1: none
    after: Int32  # next object in the same container
    before: Int32  # previous one; -1 - container for the first
    load: Int32  # objects in each container
    lanes: Float64  # by container (+ unplaced), L_WIDTH, and lane
    used: Int64  # L_WIDTH: 1 where lanes have walls, edges, slopes before they bend, or jumps
    exact: Int64  # by container (+ unplaced), E_WIDTH, and plain lane
    wish: Int32  # by column and group: the item where it costs least to come (see `kernels.pull`); below 0: none
    scarce: Int64  # by lane: 1 if what is free before the line bends was little, ever


#: Of the address that stands for one of these.
FLAT = table_of(Flat)
