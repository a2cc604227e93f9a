/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A sample for one rule of tidy. */
template <typename T>
T twice(T value)
{
    return value + value;
}
class Thing
{
  public:
    Thing() : value{1}, other(2)
    {
    }
    int get() const
    {
        return value;
    }

  private:
    int value;
    int other;
};
void run(const Thing &thing = {});
