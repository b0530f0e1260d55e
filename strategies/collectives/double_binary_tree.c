/* All-reduce over two binary trees, half of the bytes over each: sums come up in pieces while what
 * is done goes down again. Who has children in one tree has none in the other, so that everybody
 * sends and receives about as much.
 *
 * Trees are of nodes: inside one, its members follow one another from the one that is in the tree,
 * another one for each tree. Pair r of trees has channels 2 r and 2 r + 1; each tree has two lanes,
 * up and down. */
#include "strategies/collectives/pieces.h"

#define NOBODY UINT32_MAX
enum { CHILDREN_MAX = 3, LANES = 4 /* of a pair of trees */ };

/* ---------------------------------------------------------------- the tree of places 0 to n - 1 */

static uint32_t lowest_bit(uint32_t place)
{
    return place & (~place + 1);
}

/* Place 0 is the root, odd places are leaves. A place whose lowest bit is b has children b/2 to
 * both sides, the right one nearer where there is no such place. */
static uint32_t tree_parent(uint32_t places, uint32_t place)
{
    uint32_t bit = lowest_bit(place);
    uint32_t above = (place ^ bit) | bit << 1;
    return place == 0 ? NOBODY : above < places ? above : place ^ bit;
}

static uint32_t tree_left(uint32_t place)
{
    return place == 0 || place % 2 == 1 ? NOBODY : place - lowest_bit(place) / 2;
}

static uint32_t tree_right(uint32_t places, uint32_t place)
{
    uint32_t bit = place == 0 ? places : lowest_bit(place);
    uint32_t step = 1;
    if (place % 2 == 1 || places - place <= 1) {
        return NOBODY;
    }
    while (2 * step < bit && 2 * step < places - place) {
        step *= 2;
    }
    return place + step;
}

/* Links from the root to the farthest place. */
static uint32_t tree_height(uint32_t places)
{
    uint32_t height = 0;
    for (uint32_t place = 1; place < places; place++) {
        uint32_t depth = 0;
        for (uint32_t at = place; at != 0; at = tree_parent(places, at)) {
            depth++;
        }
        height = depth > height ? depth : height;
    }
    return height;
}

/* ---------------------------------------------------------------- members of a tree */

static uint32_t nodes_of(const gs_shape *shape)
{
    return shape->members / shape->inner;
}

/* Number of a node's member that is in the tree. */
static uint32_t head_of(const gs_shape *shape, uint32_t tree)
{
    return (uint32_t)((uint64_t)tree * shape->inner / (2 * shape->rings));
}

/* Every other tree has its places in another order: from the end, or for an odd number begun one
 * place later, so that odd and even change. */
static uint32_t place_of(const gs_shape *shape, uint32_t tree, uint32_t node)
{
    uint32_t nodes = nodes_of(shape);
    if (tree % 2 == 0) {
        return node;
    }
    return nodes % 2 == 0 ? nodes - 1 - node : (node + nodes - 1) % nodes;
}

static uint32_t member_at(const gs_shape *shape, uint32_t tree, uint32_t place)
{
    uint32_t nodes = nodes_of(shape);
    uint32_t node = place;
    if (place == NOBODY) {
        return NOBODY;
    }
    if (tree % 2 == 1) {
        node = nodes % 2 == 0 ? nodes - 1 - place : (place + 1) % nodes;
    }
    return node * shape->inner + head_of(shape, tree);
}

typedef struct relatives {
    uint32_t parent; /* NOBODY: this is the root */
    uint32_t children[CHILDREN_MAX];
    uint32_t child_count;
} relatives;

static void add_child(relatives *of, uint32_t child)
{
    if (child != NOBODY) {
        of->children[of->child_count++] = child;
    }
}

static relatives relatives_of(const gs_shape *shape, uint32_t tree)
{
    uint32_t inner = shape->inner;
    uint32_t local = shape->self % inner;
    uint32_t first = shape->self - local; /* of the node */
    uint32_t behind = (local + inner - head_of(shape, tree)) % inner;
    relatives of = {.parent = first + (local + inner - 1) % inner};
    if (behind == 0) {
        uint32_t place = place_of(shape, tree, shape->self / inner);
        of.parent = member_at(shape, tree, tree_parent(nodes_of(shape), place));
        add_child(&of, member_at(shape, tree, tree_left(place)));
        add_child(&of, member_at(shape, tree, tree_right(nodes_of(shape), place)));
    }
    if (behind + 1 < inner) {
        add_child(&of, first + (local + 1) % inner);
    }
    return of;
}

/* ---------------------------------------------------------------- the program */

static uint32_t trees_of(const gs_shape *shape)
{
    return 2 * shape->rings;
}

static uint32_t lanes_of(const gs_shape *shape)
{
    return LANES * shape->rings;
}

/* Of each piece: add what the children send, then send the sum to the parent. The root, which has
 * none, sends it to the children. */
static void up(const relatives *of, uint32_t turn, gs_vertex *out)
{
    if (turn < of->child_count) {
        out->kind = GS_VERTEX_ADD;
        out->peer = of->children[turn];
    } else {
        out->kind = GS_VERTEX_SEND;
        out->peer = of->parent != NOBODY ? of->parent : of->children[turn - of->child_count];
    }
}

/* Of each piece: put what the parent sends, then send it to the children. */
static void down(const relatives *of, uint32_t turn, gs_vertex *out)
{
    out->kind = turn == 0 ? GS_VERTEX_PUT : GS_VERTEX_SEND;
    out->peer = turn == 0 ? of->parent : of->children[turn - 1];
}

static bool vertex(const gs_shape *shape, uint32_t lane, uint64_t index, gs_vertex *out)
{
    uint32_t tree = lane / 2;
    relatives of = relatives_of(shape, tree);
    bool is_root = of.parent == NOBODY;
    bool goes_up = lane % 2 == 0;
    uint32_t turns = !is_root ? of.child_count + 1 : goes_up ? 2 * of.child_count : 0;
    *out = (gs_vertex){.channel = tree};
    gs_part_of(shape->elements, trees_of(shape), tree, &out->offset, &out->length);
    if (turns == 0 || !gs_piece_of(shape, index / turns, &out->offset, &out->length)) {
        return false;
    }
    uint32_t turn = (uint32_t)(index % turns);
    if (goes_up) {
        up(&of, turn, out);
    } else {
        down(&of, turn, out);
    }
    return true;
}

static uint32_t edges(const gs_shape *shape, gs_edge *out)
{
    uint32_t count = 0;
    for (uint32_t tree = 0; tree < trees_of(shape); tree++) {
        relatives of = relatives_of(shape, tree);
        if (of.parent != NOBODY) {
            out[count++] = (gs_edge){of.parent, tree};
        }
        for (uint32_t i = 0; i < of.child_count; i++) {
            out[count++] = (gs_edge){of.children[i], tree};
        }
    }
    return count;
}

/* Up and down again over every link of the longest way. */
static double closed_s(const gs_shape *shape, double bytes, double latency_s, double bytes_per_s)
{
    double links = 2.0 * (tree_height(nodes_of(shape)) + shape->inner - 1);
    return gs_pieces_s(shape, trees_of(shape), links, bytes, latency_s, bytes_per_s);
}

/* An estimate: what the busiest member sends, half of the bytes over each of its links in each
 * tree, and the way of a piece up and down. Pieces that meet on a card wait for each other, so that
 * messages take up to 3 % longer or shorter. */
static double shared_s(const gs_shape *shape, double bytes, double latency_s, double bytes_per_s)
{
    gs_shape of = *shape;
    uint32_t most = 0;
    for (of.self = 0; of.self < of.members; of.self++) {
        uint32_t links = 0;
        for (uint32_t tree = 0; tree < trees_of(&of); tree++) {
            relatives near = relatives_of(&of, tree);
            links += near.child_count + (near.parent == NOBODY ? 0 : 1);
        }
        most = links > most ? links : most;
    }
    double links = 2.0 * (tree_height(nodes_of(shape)) + shape->inner - 1);
    double share = bytes / trees_of(shape) / bytes_per_s;
    double elements = (double)shape->elements / trees_of(shape);
    bool has_pieces = shape->piece > 0 && elements > (double)shape->piece;
    double piece = has_pieces ? share * (double)shape->piece / elements : 0.0;
    double shared = most * share + links * latency_s + (links > 0.0 ? links - 1.0 : 0.0) * piece;
    double alone = closed_s(shape, bytes, latency_s, bytes_per_s);
    return shared > alone ? shared : alone;
}

const gs_collective gs_collective_double_binary_tree = {
    .name = "double_binary_tree",
    .summary =
        "all-reduce over two binary trees, in pieces: log2 n latencies, 2(n-1)/n of the bytes "
        "per rank on average",
    .source = "Sanders, Speck and Traff, Two-tree algorithms for full bandwidth broadcast, "
              "reduction and scan, Parallel Computing 35 (2009)",
    .kind = GS_ALL_REDUCE,
    .lanes = lanes_of,
    .channels = trees_of,
    .vertex = vertex,
    .sources = edges,
    .targets = edges,
    .closed_s = closed_s,
    .shared_s = shared_s,
    .takes = GS_TAKES_RINGS | GS_TAKES_NODES | GS_TAKES_PIECES,
    .piece_bytes = 512 * 1024,
};
