import { eurosFromCents } from '../../../cents.ts'
import {
  type ItemOffers,
  idAt,
  OFFER,
  type OffersValidity,
  type Shop,
} from '../../../listings/offer-store.ts'
import type { Service } from '../../../service.ts'
import { offerJson, sellerJson } from '../../shapes/public-listing.ts'

/** The JSON of an item's offers, and what it depends on. */
export type OfferJson = OffersValidity & {
  /** The elements of the array. */
  text: string
}

/**
 * Writes offers of the model as the public listings of §2.6. All texts come from `offerJson` and `sellerJson`: those of a
 * variant and of a shop are made once.
 */
export function offerWriter(ctx: Pick<Service, 'offers' | 'config'>) {
  const middles: string[] = []
  const sellers = new WeakMap<Shop['seller'], string>()

  /** The text between the price and the available quantity. */
  const middleOf = (variant: number): string => {
    const known = middles[variant]
    if (known !== undefined) return known
    const text = textOf({ ...ctx.offers.variants[variant]!, description: null, photos: [] })
    const middle = text.slice(
      text.indexOf(PRICE) + PRICE.length,
      text.indexOf(AVAILABLE) + AVAILABLE.length - 1,
    )
    middles[variant] = middle
    return middle
  }

  /** The text after the available quantity. */
  const endOf = (
    texts: Pick<Parameters<typeof offerJson>[0], 'description' | 'photos'>,
  ): string => {
    const text = textOf({ ...ctx.offers.variants[0]!, ...texts })
    return text.slice(text.indexOf(AVAILABLE) + AVAILABLE.length, -1)
  }

  const textOf = (fields: Omit<Parameters<typeof offerJson>[0], keyof typeof NUMBERS>) =>
    JSON.stringify(offerJson({ ...fields, ...NUMBERS }, ctx.config))

  const sellerOf = ({ seller }: Shop): string => {
    let text = sellers.get(seller)
    if (text === undefined) {
      text = `,"seller":${JSON.stringify(sellerJson(seller, ctx.config))}}`
      sellers.set(seller, text)
    }
    return text
  }

  return ({ numbers, texts, reservations }: ItemOffers, now: number): OfferJson => {
    const { shops } = ctx.offers
    let text = ''
    let shopVersion = 0
    let validUntil = Number.POSITIVE_INFINITY
    for (let at = 0; at < numbers.length; at += OFFER.size) {
      const shop = shops[numbers[at + OFFER.shop]!]!
      if (shop.version > shopVersion) shopVersion = shop.version
      if (shop.isHidden) continue
      const id = idAt(numbers, at)
      let available = numbers[at + OFFER.quantity]!
      const reserved = reservations?.get(id)
      if (reserved) {
        for (const { quantity, expiresAt } of reserved) {
          if (expiresAt <= now) continue
          available -= quantity
          validUntil = Math.min(validUntil, expiresAt)
        }
        available = Math.max(available, 0)
      }
      const own = texts?.get(id)
      const end = own ? endOf(own) : PLAIN_END
      const middle = middleOf(numbers[at + OFFER.variant]!)
      const price = eurosFromCents(numbers[at + OFFER.price]!)
      text += `${text ? ',' : ''}{"id":${id},"price":${price}${middle}${available}${end}${sellerOf(shop)}`
    }
    return { text, shopVersion, validUntil }
  }
}

const NUMBERS = { id: 0, priceCents: 0, quantity: 0, reserved: 0 }
const PRICE = '{"id":0,"price":0'
const AVAILABLE = '"quantity_available":0'
/** The text after the available quantity of most offers. */
const PLAIN_END = ',"description":null,"photos":[]'
