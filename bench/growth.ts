import { openDeliveries } from './deliveries.ts'
import { alternate, openGenerator, type Rates, type Rounds, type Side, sidesOf } from './engine.ts'
import { listings } from './listings.ts'
import type { Market } from './market.ts'
import { orders } from './orders.ts'

/** The rates of the same row on a small and on a large database. */
export type Growth = { name: string; small: Rates; large: Rates }

/** Measures every row that reads or writes tables which grow, on both databases in turn. */
export async function measureGrowth(
  [small, large]: [Market, Market],
  rounds: Rounds,
  deliveries: number,
): Promise<Growth[]> {
  const generator = openGenerator()
  const figures: Growth[] = []
  const compare = async (name: string, sides: Side[]) => {
    const [ofSmall, ofLarge] = await alternate(sides, rounds)
    figures.push({ name, small: ofSmall!, large: ofLarge! })
  }
  try {
    for (const row of [...listings, ...orders]) {
      const ofSmall = await sidesOf(small, row, generator, rounds.rounds)
      const ofLarge = await sidesOf(large, row, generator, rounds.rounds)
      await compare(row.name, [ofSmall.service, ofLarge.service])
      await ofSmall.close()
      await ofLarge.close()
    }
    const toSmall = await openDeliveries(small, deliveries)
    const toLarge = await openDeliveries(large, deliveries)
    for (const [i, { name, service }] of toSmall.rows.entries()) {
      await compare(name, [service, toLarge.rows[i]!.service])
    }
    await toSmall.close()
    await toLarge.close()
    return figures
  } finally {
    generator.kill()
  }
}
