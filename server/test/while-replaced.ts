/** Does the work while an object has other members, such as a service whose counters are unavailable. */
export async function whileReplaced<Target extends object, T>(
  target: Target,
  members: Partial<Target>,
  work: () => Promise<T>,
): Promise<T> {
  const former: Partial<Target> = {}
  for (const name of Object.keys(members) as (keyof Target)[]) former[name] = target[name]
  Object.assign(target, members)
  try {
    return await work()
  } finally {
    Object.assign(target, former)
  }
}
