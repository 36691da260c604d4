#define TYPE_OFFSET    0
#define COUNTER_OFFSET 2
