/* message_values.h: the numbers of a message of floats. */
/* SPDX-License-Identifier: MIT */
#ifndef MESSAGE_VALUES_H
#define MESSAGE_VALUES_H

#include <stdlib.h>

#include "sg_message.h"

static inline const float *values_of(const struct sg_message *m) {
    if (m->code != &sg_code_fp32 || m->bytes != m->count * sizeof(float))
        abort();
    return m->data;
}

#endif
