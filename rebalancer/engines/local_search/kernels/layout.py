"""The flat arrays that kernels read and write: what each number of a row means."""

from __future__ import annotations

from typing import Any, NamedTuple

from rebalancer.engines.local_search.kernels.jit import kernel, pointer

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
) = range(24)
C_WIDTH = 24

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
) = range(15)
P_WIDTH = 15

#: A row of ``stages``: the function, and word (-1: constant) and constant of its numbers.
S_FUNCTION, S_ALPHA_WORD, S_ALPHA, S_CONST_WORD, S_CONST, S_DIVISOR_WORD, S_DIVISOR = range(7)
S_WIDTH = 7
F_IDENTITY, F_HINGE, F_STEP, F_SQUARE, F_CEIL, F_MOD, F_ROUND = range(7)

#: A row of ``specials``.
(
    X_KIND,
    X_OUTPUT,
    X_INPUTS,  # its inputs in ``maps``
    X_INPUTS_END,
    X_NUMBER,  # divisor, factor or rank
    X_PLACE,  # where the position of each input cell begins in ``spots``
    X_TREES,  # where the start of each output's numbers begins in ``spots``
) = range(7)
X_WIDTH = 7
K_LARGEST_OF, K_SMALLEST_OF, K_PRODUCT, K_RATIO, K_MAX, K_MIN, K_NTH, K_REST = range(8)

#: What is in ``counts``.
N_BROKEN, N_APPLIED, N_LEANING = range(3)
N_WIDTH = 4

#: A row of ``rows``: column, group, first exception and number of exceptions of one membership.
R_COLUMN, R_GROUP, R_EXCEPT, R_EXCEPTS = range(4)
R_WIDTH = 4

#: What is in ``sizes``.
Z_OBJECTS, Z_CONTAINERS, Z_COLUMNS, Z_PIECES, Z_SPECIALS, Z_SINGLES, Z_HEAD, Z_POSITIONS, Z_VALUES = range(9)
Z_LANES, Z_ALIKE = 9, 10

# What there is of each lane and container: its value, the bound that must hold, the bound that has a price and what one
# unit beyond costs, where the line bends, its slope before, what is added to the slope there, and what is paid at once.
L_VALUE, L_WALL, L_EDGE, L_FINE, L_KNEE, L_BASE, L_RATE, L_JUMP = range(8)
L_WIDTH = 8


#: Of ``spare``.
UNKNOWN = -1.0


class Flat(NamedTuple):
    """A model and an assignment. The first part never changes; the second is one searcher's own.

    Arrays have one axis, and are int64 unless said otherwise. Kernels hand them to each other as `pointers`.
    """

    sizes: Any
    columns: Any
    pieces: Any
    stages: Any
    specials: Any
    uses: Any  # specials that read each column
    maps: Any  # int32
    words: Any  # each searcher has its own: bounds are among them, and may be relaxed
    spread: Any
    spots: Any
    object_rows: Any  # where the memberships of each object begin in ``rows``; objects + 1
    rows: Any  # int32
    weights: Any  # of memberships
    except_item: Any  # int32
    except_weight: Any
    singles: Any  # columns of one cell, in order
    objectives: Any  # column of each tuple position
    head: Any  # in pairs: pieces that round what an objective adds up, and its tuple position
    head_weight: Any  # float64: what one rounded unit of each is worth
    hash_rows: Any  # where each hash row begins
    home: Any  # int32, initial container of each object; number of containers: unplaced
    scan_rows: Any  # where the memberships of each object begin that are not in lanes; objects
    lane_weight: Any  # float64: of each object in each lane, away from where it started and there; zeros at the end
    alike: Any  # int32: Z_ALIKE objects of each that weigh about the same
    # -- one searcher's own
    values: Any
    hash_key: Any  # int32
    hash_value: Any
    place: Any  # int32, container of each object
    spare: Any  # float64, the most that each can gain outside lanes; UNKNOWN since it moved, or slopes are new
    pending: Any  # what each column of one cell has yet to take in, at its beginning
    stack: Any  # changes that have yet to be made, in fours
    counts: Any  # N_WIDTH
    broken: Any  # amount beyond bounds, at each column's beginning
    paid: Any  # of rising columns, how many cells have a piece that is not 0, and then 1 if more may be worth having;
    # of tallies, then 1 if somebody was seen to gain there by coming, other than home
    numbers: Any  # trees and sorted rows of specials
    gradient: Any  # float64, by value
    piece_gradient: Any  # float64: what one unit more of each piece is worth, at its beginning
    lean: Any  # float64, at the beginning of columns of one cell: what a unit is worth beyond what it is (N_LEANING)
    penalty: Any  # float64, at each column's beginning: price of one unit beyond its bounds; infinite: forbidden
    first: Any  # int32, first object of each container (+ unplaced), -1: none
    after: Any  # int32, next object in the same container
    before: Any  # int32, previous one; -1 - container for the first
    load: Any  # int32, objects in each container
    lanes: Any  # float64, by container (+ unplaced), L_WIDTH, and lane


@kernel
def pointers(f: Flat) -> Flat:
    """Return the arrays as bare pointers, which cost nothing to hand on (arrays are counted at every call)."""
    return Flat(
        pointer(f.sizes),
        pointer(f.columns),
        pointer(f.pieces),
        pointer(f.stages),
        pointer(f.specials),
        pointer(f.uses),
        pointer(f.maps),
        pointer(f.words),
        pointer(f.spread),
        pointer(f.spots),
        pointer(f.object_rows),
        pointer(f.rows),
        pointer(f.weights),
        pointer(f.except_item),
        pointer(f.except_weight),
        pointer(f.singles),
        pointer(f.objectives),
        pointer(f.head),
        pointer(f.head_weight),
        pointer(f.hash_rows),
        pointer(f.home),
        pointer(f.scan_rows),
        pointer(f.lane_weight),
        pointer(f.alike),
        pointer(f.values),
        pointer(f.hash_key),
        pointer(f.hash_value),
        pointer(f.place),
        pointer(f.spare),
        pointer(f.pending),
        pointer(f.stack),
        pointer(f.counts),
        pointer(f.broken),
        pointer(f.paid),
        pointer(f.numbers),
        pointer(f.gradient),
        pointer(f.piece_gradient),
        pointer(f.lean),
        pointer(f.penalty),
        pointer(f.first),
        pointer(f.after),
        pointer(f.before),
        pointer(f.load),
        pointer(f.lanes),
    )
