/* wire_fields.c: the numbers of a code with parts and buckets in fewer bits (wire_fields.h). */
/* SPDX-License-Identifier: MIT */
#include "wire_fields.h"

#include "wire_prefix.h"

enum { HEAD = 8, PART_HEAD = 8, WORD = 8 };
_Static_assert((int)WORD == (int)WIRE_BUCKETS_TAIL, "the last word of the data");

/* How the fields of a part are written. */
enum way { AS_THEY_ARE, EVERY_FIELD, RUNS, RUNS_GAMMA, WAYS };
enum { WAY_BITS = 2, LOW_BITS = 5, SPECIAL = 1 };

static const struct prefix_alphabet of_values = {9, 3}, of_runs = {4, 1};
enum { VALUES = 632, RUN_LENGTHS = 72 };                   /* symbols of integers of 24 and of 32 bits */
enum { LOOKED = 57, MOST_OF_VALUE = PREFIX_LONGEST + 20 }; /* bits that are looked at, and of an integer of 24 bits */

/* ---- fields as integers ---- */

/* x [count]: each field becomes 2 |q|, and one more if q < 0; what has the sign of a 0, or is the least of two's
 * complement, becomes 1. Without signs an integer stays what it is. */
static void integers_of(uint32_t *x, size_t count, const struct wire_layout *l, unsigned bits) {
    const uint32_t mask = (uint32_t)(((uint64_t)1 << bits) - 1);
    if (l->sign == WIRE_SIGN_ABOVE)
        for (size_t j = 0; j < count; j++)
            x[j] = (x[j] << 1 & mask) | x[j] >> (bits - 1);
    else if (l->sign == WIRE_TWOS_COMPLEMENT)
        for (size_t j = 0; j < count; j++) {
            const uint32_t below = x[j] >> (bits - 1), size = below ? (0 - x[j]) & mask : x[j];
            x[j] = (size << 1 & mask) | below;
        }
}

static void fields_of(uint32_t *x, size_t count, const struct wire_layout *l, unsigned bits) {
    const uint32_t mask = (uint32_t)(((uint64_t)1 << bits) - 1), top = 1U << (bits - 1);
    if (l->sign == WIRE_SIGN_ABOVE)
        for (size_t j = 0; j < count; j++)
            x[j] = x[j] >> 1 | (x[j] & 1) << (bits - 1);
    else if (l->sign == WIRE_TWOS_COMPLEMENT)
        for (size_t j = 0; j < count; j++)
            x[j] = x[j] == SPECIAL ? top : (x[j] & 1 ? 0 - (x[j] >> 1) : x[j] >> 1) & mask;
}

static size_t load_integers(uint32_t x[WIRE_PIECE], const struct wire_layout *l, const uint8_t *data,
                            const struct wire_part *p, size_t first) {
    const size_t count = p->count - first < WIRE_PIECE ? p->count - first : WIRE_PIECE;
    wire_fields(x, data, p, first, count);
    integers_of(x, count, l, p->bits);
    return count;
}

/* at [..] <- where x is not 0; returns how often. */
static size_t find_values(uint16_t at[WIRE_PIECE], const uint32_t *x, size_t count) {
    size_t found = 0;
    for (size_t j = 0; j < count; j++) {
        at[found] = (uint16_t)j;
        found += x[j] != 0;
    }
    return found;
}

/* ---- the choice of a way ---- */

struct plan {
    enum way way;
    unsigned low; /* RUNS_GAMMA: low bits of a run's length that are written as they are */
    uint64_t bits;
    struct prefix value, run; /* of EVERY_FIELD, and of RUNS */
};

struct occurrences {
    uint32_t value[PREFIX_MOST_SYMBOLS], run[PREFIX_MOST_SYMBOLS];
};

/* A run stands before every integer that is not 0, and one behind the last of them if there are zeros. */
static void count_integers(struct occurrences *o, const struct wire_layout *l, const uint8_t *data,
                           const struct wire_part *p) {
    uint32_t x[WIRE_PIECE];
    uint16_t at[WIRE_PIECE];
    size_t next = 0, values = 0; /* next: behind the last integer that is not 0 */
    memset(o, 0, sizeof *o);
    for (size_t first = 0, count; first < p->count; first += count) {
        count = load_integers(x, l, data, p, first);
        const size_t found = find_values(at, x, count);
        for (size_t i = 0; i < found; i++) {
            o->value[prefix_symbol(of_values, x[at[i]])]++;
            o->run[prefix_symbol(of_runs, (uint32_t)(first + at[i] - next))]++;
            next = first + at[i] + 1;
        }
        values += found;
    }
    if (next < p->count)
        o->run[prefix_symbol(of_runs, (uint32_t)(p->count - next))]++;
    o->value[0] = (uint32_t)(p->count - values);
}

/* Bits of a run whose length, less its low bits, has `length` bits: that in unary, then the low ones and all but the
 * highest. */
static uint64_t gamma_run_bits(unsigned length, unsigned low) {
    return 1 + low + length + (length > 0 ? length - 1 : 0);
}

static void plan_gamma(struct plan *c, const struct occurrences *o) {
    uint64_t runs[33] = {0}, values = 0;
    if (o->value[SPECIAL] > 0)
        return;
    for (unsigned t = 2; t < VALUES; t++) {
        const unsigned length = prefix_bit_length(prefix_least(of_values, t)); /* of 2 |q|, at least 2 */
        values += (uint64_t)o->value[t] * (2 * length - 2);
    }
    for (unsigned t = 0; t < RUN_LENGTHS; t++)
        runs[prefix_bit_length(prefix_least(of_runs, t))] += o->run[t];
    for (unsigned low = 0; low < 32; low++) {
        uint64_t bits = WAY_BITS + LOW_BITS + values;
        for (unsigned length = 0; length <= 32; length++)
            bits += runs[length] * gamma_run_bits(length > low ? length - low : 0, low);
        if (bits < c->bits) {
            c->way = RUNS_GAMMA;
            c->low = low;
            c->bits = bits;
        }
    }
}

static void plan_part(struct plan *c, const struct wire_layout *l, const uint8_t *data, const struct wire_part *p) {
    struct occurrences o;
    struct prefix all, value, run;
    c->way = AS_THEY_ARE;
    c->bits = 8 * (1 + (uint64_t)(p->end - p->at));
    count_integers(&o, l, data, p);
    prefix_choose(&all, o.value);
    const uint64_t every = WAY_BITS + prefix_description_bits(&all) + prefix_bits(&all, of_values, o.value);
    if (every < c->bits) {
        c->way = EVERY_FIELD;
        c->bits = every;
        c->value = all;
    }
    plan_gamma(c, &o);
    o.value[0] = 0;
    prefix_choose(&value, o.value);
    prefix_choose(&run, o.run);
    const uint64_t runs = WAY_BITS + prefix_description_bits(&run) + prefix_description_bits(&value) +
                          prefix_bits(&run, of_runs, o.run) + prefix_bits(&value, of_values, o.value);
    if (runs < c->bits) {
        c->way = RUNS;
        c->bits = runs;
        c->value = value;
        c->run = run;
    }
}

static size_t scalar_bytes(const struct wire_part *p) {
    return p->at - p->scalar_at;
}

uint64_t wire_fields_size(const struct sg_message *m) {
    const struct wire_layout *l = m->code->layout;
    const uint8_t *data = m->data;
    const size_t parts = wire_parts_of(data);
    struct wire_part p = {.end = wire_parts_begin(parts)};
    uint64_t bytes = wire_number_bytes(parts) + wire_number_bytes(wire_load32(data + 4));
    for (size_t i = 0; i < parts; i++) {
        struct plan c;
        p = wire_next_part(l, data, i, &p);
        bytes += wire_number_bytes(p.count) + wire_number_bytes(p.setting);
        if (p.count == 0)
            continue;
        plan_part(&c, l, data, &p);
        bytes += scalar_bytes(&p) + wire_bytes_of_bits(c.bits);
    }
    bytes += wire_number_bytes(wire_load64(data + m->bytes - WORD)) + m->bytes - WORD - p.end;
    const uint64_t least = (m->bytes + WIRE_FIELDS_MOST - 1) / WIRE_FIELDS_MOST;
    return bytes > least ? bytes : least;
}

/* ---- writing ---- */

static void write_unary(struct wire_packer *to, unsigned zeros) {
    wire_pack(to, 0, zeros);
    wire_pack(to, 1, 1);
}

static void write_run(struct wire_packer *to, const struct plan *c, uint32_t run) {
    if (c->way == RUNS) {
        prefix_write(to, &c->run, of_runs, run);
        return;
    }
    const unsigned length = prefix_bit_length(run >> c->low), low = c->low + (length > 0 ? length - 1 : 0);
    write_unary(to, length);
    wire_pack(to, run & (((uint64_t)1 << low) - 1), low);
}

static void write_value(struct wire_packer *to, const struct plan *c, uint32_t x) {
    if (c->way != RUNS_GAMMA) {
        prefix_write(to, &c->value, of_values, x);
        return;
    }
    const unsigned length = prefix_bit_length(x);
    write_unary(to, length - 2);
    wire_pack(to, x & ((1U << (length - 1)) - 1), length - 1);
}

static void write_coded(struct wire_packer *to, const struct plan *c, const struct wire_layout *l, const uint8_t *data,
                        const struct wire_part *p) {
    uint32_t x[WIRE_PIECE];
    uint16_t at[WIRE_PIECE];
    size_t next = 0;
    for (size_t first = 0, count; first < p->count; first += count) {
        count = load_integers(x, l, data, p, first);
        if (c->way == EVERY_FIELD) {
            for (size_t j = 0; j < count; j++)
                write_value(to, c, x[j]);
            continue;
        }
        const size_t found = find_values(at, x, count);
        for (size_t i = 0; i < found; i++) {
            write_run(to, c, (uint32_t)(first + at[i] - next));
            write_value(to, c, x[at[i]]);
            next = first + at[i] + 1;
        }
    }
    if (c->way != EVERY_FIELD && next < p->count)
        write_run(to, c, (uint32_t)(p->count - next));
}

static uint8_t *write_part(uint8_t *out, const struct wire_layout *l, const uint8_t *data, const struct wire_part *p) {
    struct plan c;
    plan_part(&c, l, data, p);
    memcpy(out, data + p->scalar_at, scalar_bytes(p));
    out += scalar_bytes(p);
    if (c.way == AS_THEY_ARE) {
        *out = AS_THEY_ARE;
        memcpy(out + 1, data + p->at, p->end - p->at);
        return out + 1 + (p->end - p->at);
    }
    struct wire_packer to = {.out = out};
    wire_pack(&to, c.way, WAY_BITS);
    if (c.way == RUNS_GAMMA)
        wire_pack(&to, c.low, LOW_BITS);
    if (c.way == RUNS)
        prefix_describe(&to, &c.run);
    if (c.way != RUNS_GAMMA)
        prefix_describe(&to, &c.value);
    write_coded(&to, &c, l, data, p);
    wire_pack_flush(&to);
    SG_ASSERT(8 * (uint64_t)(to.out - out) + to.fill == c.bits);
    return out + wire_bytes_of_bits(c.bits);
}

void wire_fields_encode(uint8_t *out, size_t bytes, const struct sg_message *m) {
    const struct wire_layout *l = m->code->layout;
    const uint8_t *data = m->data;
    uint8_t *const end = out + bytes;
    const size_t parts = wire_parts_of(data);
    struct wire_part p = {.end = wire_parts_begin(parts)};
    out = wire_put_number(out, parts);
    out = wire_put_number(out, wire_load32(data + 4));
    for (size_t i = 0; i < parts; i++) {
        p = wire_next_part(l, data, i, &p);
        out = wire_put_number(out, p.count);
        out = wire_put_number(out, p.setting);
        if (p.count > 0)
            out = write_part(out, l, data, &p);
    }
    const size_t more = m->bytes - WORD - p.end;
    out = wire_put_number(out, wire_load64(data + m->bytes - WORD));
    if (more > 0)
        memcpy(out, data + p.end, more);
    SG_ASSERT(out + more <= end);
    memset(out + more, 0, (size_t)(end - out) - more);
}

/* ---- reading ---- */

/* A number of unary bits, at most `most`; false if there are more. */
static bool read_unary(struct wire_bits *from, unsigned most, unsigned *zeros) {
    const uint64_t bits = wire_look(from);
    *zeros = bits > 0 ? (unsigned)__builtin_ctzll(bits) : most + 1;
    from->at += *zeros + 1;
    return *zeros <= most;
}

struct reader {
    struct wire_bits bits;
    unsigned low;
    struct prefix_reader value, run;
};

static bool open_part(struct reader *r, enum way way) {
    r->low = way == RUNS_GAMMA ? wire_take(&r->bits, LOW_BITS) : 0;
    return (way != RUNS || (prefix_open(&r->run, RUN_LENGTHS, &r->bits) && !r->run.empty)) &&
           (way == RUNS_GAMMA || prefix_open(&r->value, VALUES, &r->bits));
}

static bool read_run(struct reader *r, enum way way, uint64_t *run) {
    unsigned length;
    if (way == RUNS) {
        *run = prefix_read(&r->run, of_runs, &r->bits);
        return true;
    }
    if (!read_unary(&r->bits, 32 - r->low, &length))
        return false;
    const unsigned low = r->low + (length > 0 ? length - 1 : 0);
    *run = (length > 0 ? (uint64_t)1 << low : 0) + wire_take(&r->bits, low);
    return true;
}

static bool read_value(struct reader *r, enum way way, unsigned bits, uint64_t *x) {
    unsigned zeros;
    if (way == RUNS) {
        *x = r->value.empty ? 0 : prefix_read(&r->value, of_values, &r->bits);
        return *x > 0 && *x >> bits == 0;
    }
    if (!read_unary(&r->bits, bits, &zeros) || zeros + 2 > bits)
        return false;
    *x = ((uint64_t)1 << (zeros + 1)) + wire_take(&r->bits, zeros + 1);
    return true;
}

/* Every field of a part. */
static bool read_every(struct reader *r, const struct wire_layout *l, uint8_t *data, const struct wire_part *p) {
    const struct sg_code_kernels *kernels = sg_kernels_cpu(NULL)->loops;
    uint32_t x[WIRE_PIECE];
    if (r->value.empty)
        return false;
    for (size_t first = 0, count; first < p->count; first += count) {
        uint64_t all = 0;
        count = p->count - first < WIRE_PIECE ? p->count - first : WIRE_PIECE;
        for (size_t j = 0; j < count;) {
            uint64_t bits = wire_look(&r->bits);
            unsigned used = 0;
            while (j < count && used <= LOOKED - MOST_OF_VALUE)
                all |= x[j++] = (uint32_t)prefix_next(&r->value, of_values, &bits, &used);
            r->bits.at += used;
        }
        if (all >> p->bits != 0)
            return false;
        fields_of(x, count, l, p->bits);
        kernels->pack(data + p->at + first / 8 * p->bits, x, count, p->bits);
    }
    return true;
}

/* The fields of a part that are not 0, with the runs of zeros between them. Fields have at most 24 bits, so that each
 * lies in 4 bytes, of which some may be behind the part. */
static bool read_runs(struct reader *r, enum way way, const struct wire_layout *l, uint8_t *data,
                      const struct wire_part *p) {
    memset(data + p->at, 0, p->end - p->at + WORD);
    for (uint64_t at = 0, run, x; at < p->count; at++) {
        if (!read_run(r, way, &run) || run > p->count - at)
            return false;
        at += run;
        if (at == p->count)
            break;
        if (!read_value(r, way, p->bits, &x))
            return false;
        uint32_t field = (uint32_t)x;
        fields_of(&field, 1, l, p->bits);
        uint8_t *to = data + p->at + at * p->bits / 8;
        wire_store32(to, wire_load32(to) | field << at * p->bits % 8);
    }
    return true;
}

/* Reads what stands behind a part's scalars at in [bytes]. Returns how many bytes that is; 0 = it is no part. */
static size_t read_part(const struct wire_layout *l, uint8_t *data, const struct wire_part *p, const uint8_t *in,
                        size_t bytes) {
    struct reader r = {.bits = {in, bytes, 0}};
    const enum way way = (enum way)wire_take(&r.bits, WAY_BITS);
    const size_t size = p->end - p->at;
    if (way == AS_THEY_ARE) {
        if (bytes < 1 + size || in[0] != AS_THEY_ARE)
            return 0;
        memcpy(data + p->at, in + 1, size);
        return 1 + size;
    }
    if (!open_part(&r, way) || !(way == EVERY_FIELD ? read_every(&r, l, data, p) : read_runs(&r, way, l, data, p)) ||
        r.bits.at > 8 * (uint64_t)bytes)
        return 0;
    const size_t end = (size_t)wire_bytes_of_bits(r.bits.at);
    return r.bits.at % 8 == 0 || in[end - 1] >> r.bits.at % 8 == 0 ? end : 0;
}

bool wire_fields_decode(uint8_t *data, const struct sg_message *m, const uint8_t *in, size_t bytes) {
    const struct wire_layout *l = m->code->layout;
    const uint8_t *const end = in + bytes;
    uint64_t parts, bucket, count, setting, last;
    const uint64_t most = m->bytes < HEAD + WORD ? 0 : (m->bytes - HEAD - WORD) / PART_HEAD;
    if (m->bytes < HEAD + WORD || !(in = wire_get_number(&parts, most, in, end)) ||
        !(in = wire_get_number(&bucket, UINT32_MAX, in, end)) || bucket == 0)
        return false;
    wire_store32(data, (uint32_t)parts);
    wire_store32(data + 4, (uint32_t)bucket);
    struct wire_part p = {.end = wire_parts_begin(parts)};
    for (size_t i = 0; i < parts; i++) {
        if (!(in = wire_get_number(&count, m->count - (p.first + p.count), in, end)) ||
            !(in = wire_get_number(&setting, l->most_setting, in, end)) || setting < l->least_setting)
            return false;
        wire_store32(data + wire_parts_begin(i), (uint32_t)count);
        wire_store32(data + wire_parts_begin(i) + 4, (uint32_t)setting);
        p = wire_next_part(l, data, i, &p);
        if (p.end + WORD > m->bytes || scalar_bytes(&p) > (size_t)(end - in))
            return false;
        if (count == 0)
            continue;
        memcpy(data + p.scalar_at, in, scalar_bytes(&p));
        in += scalar_bytes(&p);
        const size_t read = read_part(l, data, &p, in, (size_t)(end - in));
        if (read == 0)
            return false;
        in += read;
    }
    const size_t more = m->bytes - WORD - p.end;
    if (!(in = wire_get_number(&last, (uint64_t)1 << 40, in, end)) || more > (size_t)(end - in))
        return false;
    if (more > 0)
        memcpy(data + p.end, in, more);
    wire_store64(data + m->bytes - WORD, last);
    for (in += more; in < end; in++)
        if (*in != 0 || bytes > (m->bytes + WIRE_FIELDS_MOST - 1) / WIRE_FIELDS_MOST)
            return false;
    return true;
}
