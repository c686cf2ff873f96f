import { eurosFromCents } from '../../../cents.ts'
import type { Config } from '../../../config.ts'
import type { Condition } from '../../../enums.ts'
import { quantityAvailable } from '../../../listings/listing.ts'
import type { MarketOffer, ShownOffers } from '../../../listings/market.ts'

/** schema.org data, by which search engines show prices and stock. */

const CONTEXT = 'https://schema.org'

type Item = { name: string; image: string | null; category: string; url: string }

/** A Product with its offers on this page; undefined without offers: search engines report such a Product as invalid. */
export const productData = (item: Item, offers: ShownOffers, config: Config) =>
  offers.lowestCents === null
    ? undefined
    : {
        '@context': CONTEXT,
        '@type': 'Product',
        name: item.name,
        category: item.category,
        url: item.url,
        ...(item.image && { image: item.image }),
        offers: {
          '@type': 'AggregateOffer',
          priceCurrency: 'EUR',
          lowPrice: eurosFromCents(offers.lowestCents),
          offerCount: offers.total,
          offers: offers.rows.map((offer) => offerData(offer, item.url, config)),
        },
      }

const offerData = (offer: MarketOffer, url: string, { marketplaceUrl }: Config) => ({
  '@type': 'Offer',
  price: eurosFromCents(offer.priceCents),
  priceCurrency: 'EUR',
  url,
  availability: `${CONTEXT}/${quantityAvailable(offer) > 0 ? 'InStock' : 'OutOfStock'}`,
  itemCondition: `${CONTEXT}/${isNew(offer.condition) ? 'NewCondition' : 'UsedCondition'}`,
  seller: {
    '@type': 'Organization',
    name: offer.seller.shopName,
    url: `${marketplaceUrl}/shops/${encodeURIComponent(offer.seller.slug)}`,
  },
})

const isNew = (condition: Condition | null) => condition === null || condition === 'M'
