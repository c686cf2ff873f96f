import { listsOf } from './list.ts'
import { type Options, requestData, type Transport } from './transport.ts'
import type {
  Card,
  CardSet,
  GetCardQuery,
  GetProductQuery,
  GetSetQuery,
  ListCardsQuery,
  ListProductsQuery,
  ListSetsQuery,
  SealedProduct,
  Series,
  SetDetail,
} from './types.ts'

/** The catalog: series, sets, cards and sealed products. */
export function catalog(send: Transport) {
  const get = <T>(path: string, query?: object, options?: Options) =>
    requestData<T>(send, 'GET', path, { ...options, query })
  const list = listsOf(send)

  return {
    series: {
      list: (options?: Options) => get<Series[]>('/series', undefined, options),
    },
    sets: {
      list: list<CardSet, ListSetsQuery>('/sets'),
      /** @param id canonical id or shortcut */
      get: (id: string, query?: GetSetQuery, options?: Options) =>
        get<SetDetail>(`/sets/${encodeURIComponent(id)}`, query, options),
    },
    cards: {
      list: list<Card, ListCardsQuery>('/cards'),
      /** @param id canonical or friendly id */
      get: (id: string, query?: GetCardQuery, options?: Options) =>
        get<Card>(`/cards/${encodeURIComponent(id)}`, query, options),
    },
    products: {
      list: list<SealedProduct, ListProductsQuery>('/products'),
      get: (slug: string, query?: GetProductQuery, options?: Options) =>
        get<SealedProduct>(`/products/${encodeURIComponent(slug)}`, query, options),
    },
  }
}
