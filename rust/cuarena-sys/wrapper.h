/* What the bindings are made of. */
#include "cuarena.h"
