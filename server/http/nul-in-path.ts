/** Whether the path of a URL has a NUL. It is an unknown address, because the database can't compare text with a NUL. */
export function isNulInPath(url: string): boolean {
  const nul = url.indexOf('%00')
  return nul >= 0 && !url.slice(0, nul).includes('?')
}
