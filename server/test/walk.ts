import { type Answer, type Client, PUBLIC_URL } from './app.ts'

/** The pages of a list from this one on, by following its links. */
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

/** Every record of a list, in the order in which a walk sees them. */
export async function allRecords(client: Client, path: string) {
  const pages = await walk(client, path)
  return pages.flatMap(({ body }) => body.data)
}

/** An absolute link of ours as a path to ask for. */
export function pathOf(link: string): string {
  if (!link.startsWith(`${PUBLIC_URL}/`)) throw new Error(`${link} doesn't lead to this service`)
  return link.slice(PUBLIC_URL.length)
}
