/** Fits the request of a program that a member allows after signing in. */
export const MAX_PATH_LENGTH = 4_000

/**
 * The path to go to after signing in. `next` comes from a link that anyone could have made, so it must lead to our own
 * site; otherwise this is the dashboard.
 */
export function ownPath(next: string | undefined, publicUrl: string): string {
  const { origin, pathname } = new URL(publicUrl)
  const dashboard = `${pathname.replace(/\/$/, '')}/dashboard`
  // Browsers read a backslash as a slash, and ignore tabs and line breaks.
  if (!next?.startsWith('/') || next.length > MAX_PATH_LENGTH || /[\\\p{Cc}]/u.test(next)) {
    return dashboard
  }
  const url = URL.parse(next, origin)
  // Dots are resolved by now: "/.//evil" has become "//evil", which names a host.
  if (url?.origin !== origin || url.pathname.startsWith('//')) return dashboard
  return url.pathname + url.search + url.hash
}
