import { type Client, PUBLIC_URL, type TestResponse } from './app.ts'

/** Follows the links of a list from this path, and returns its pages. */
export async function walk(
  client: Client,
  path: string,
  direction: 'next' | 'prev' = 'next',
): Promise<TestResponse[]> {
  const pages: TestResponse[] = []
  let at: string | null = path
  while (at !== null) {
    const page = await client.get(at)
    if (page.status !== 200) throw new Error(`${at} returned ${page.status}: ${page.text}`)
    pages.push(page)
    const link: string | null = page.body.links[direction]
    at = link && pathOf(link)
  }
  return pages
}

/** All records of a list, in the order of its pages. */
export async function allRecords(client: Client, path: string) {
  const pages = await walk(client, path)
  return pages.flatMap(({ body }) => body.data)
}

/** The path of an absolute link to this service. */
export function pathOf(link: string): string {
  if (!link.startsWith(`${PUBLIC_URL}/`)) throw new Error(`${link} is not a link to this service`)
  return link.slice(PUBLIC_URL.length)
}
