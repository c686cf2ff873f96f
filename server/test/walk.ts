import { type Answer, type Client, PUBLIC_URL } from './app.ts'

/** The pages of a list from a path on, following the links. */
export async function walk(
  client: Client,
  path: string,
  direction: 'next' | 'prev' = 'next',
): Promise<Answer[]> {
  const pages: Answer[] = []
  let at: string | null = path
  while (at !== null) {
    const page = await client.get(at)
    if (page.status !== 200) throw new Error(`${at} answered ${page.status}: ${page.text}`)
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
  if (!link.startsWith(`${PUBLIC_URL}/`)) throw new Error(`${link} doesn't lead to this service`)
  return link.slice(PUBLIC_URL.length)
}
