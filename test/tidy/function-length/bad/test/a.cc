/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A sample for one rule of tidy. */
namespace base
{
struct Thing {
    int work()
    {
        value++; // times 60
        return value;
    }
    int value = 0;
};

TEST(Thing, Works)
{
    work(); // times 60
}
} // namespace base
