/** The fields that this example needs; the API sends more. */
type Listing = { id: number; updated_at: string }
type Page = { data: Listing[]; links: { last: string; prev: string | null; next: string | null } }

const OVERLAP_SECONDS = 30

/**
 * Brings a copy of your listings up to date.
 *
 * @param since the value that the previous call returned; '1970-01-01' the first time
 * @param save inserts a listing into your copy, or replaces the one with its id
 * @returns `since` for the next call
 */
export async function syncListings(
  baseUrl: string,
  key: string,
  since: string,
  save: (listing: Listing) => void | Promise<void>,
): Promise<string> {
  const query = new URLSearchParams({ updated_since: since, per_page: '100' })
  let page = await get(`${baseUrl}/listings?${query}`, key)
  if (page.links.next) page = await get(page.links.last, key)

  // From the last page to the first: a listing that changes meanwhile moves to the end, and the others move towards
  // us, never past us.
  let newest: string | undefined
  for (;;) {
    newest ??= page.data.at(-1)?.updated_at
    for (const listing of page.data) await save(listing)
    if (!page.links.prev) break
    page = await get(page.links.prev, key)
  }
  if (!newest) return since
  return new Date(Date.parse(newest) - OVERLAP_SECONDS * 1000).toISOString()
}

async function get(url: string, key: string): Promise<Page> {
  for (;;) {
    const response = await fetch(url, { headers: { authorization: `Bearer ${key}` } })
    if (response.ok) return (await response.json()) as Page
    if (response.status !== 429) throw new Error(`${url} responded with status ${response.status}`)
    const seconds = Number(response.headers.get('retry-after'))
    await new Promise((resolve) => setTimeout(resolve, seconds * 1000))
  }
}
