/** The fields that a form has changed. A save sends no others: it would undo changes that were made meanwhile. */
export const changesIn = <T extends object>(shown: T, entered: T): Partial<T> =>
  Object.fromEntries(
    Object.entries(entered).filter(([name, value]) => value !== shown[name as keyof T]),
  ) as Partial<T>
