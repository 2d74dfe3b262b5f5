#include "sg_half.h"

void sg_half_round(float *value, const uint32_t *index, size_t count, float *e) {
    for (size_t j = 0; j < count; j++) {
        const float p = value[j], h = sg_half_value(sg_half_of(p));
        value[j] = h;
        if (e != NULL)
            e[index != NULL ? index[j] : j] += p - h;
    }
}
