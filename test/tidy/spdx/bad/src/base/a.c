/* A sample for one rule of tidy. */
int base_a(void);
