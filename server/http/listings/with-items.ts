import type { Listable } from '../../listings/listing.ts'
import type { Service } from '../../service.ts'

/** Reads a page of listings, and waits until the catalog in memory has their items. */
export async function withItems<Found extends { rows: Listable[] }>(
  { catalog }: Pick<Service, 'catalog'>,
  found: Promise<Found>,
): Promise<Found> {
  const page = await found
  await catalog.include(page.rows)
  return page
}
