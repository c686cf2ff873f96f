import type { Config } from '../config.ts'

/** The pages of the dashboard that e-mails and errors link to. */

type PublicUrl = { config: Pick<Config, 'publicUrl'> }

const page =
  (path: string) =>
  ({ config }: PublicUrl): string =>
    `${config.publicUrl}/dashboard${path}`

export const overviewPage = page('')
export const listingsPage = page('/listings')
export const keysPage = page('/keys')
export const webhooksPage = page('/webhooks')
/** A seller completes the payout setup here. */
export const payoutsPage = page('/payouts')
export const orderPage = (ctx: PublicUrl, orderId: number) => page(`/orders/${orderId}`)(ctx)
