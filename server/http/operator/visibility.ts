import Type from 'typebox'
import { changeVisibility, MAX_RECORDS } from '../../catalog/visibility.ts'
import type { Service } from '../../service.ts'
import { groupDigits } from '../../text/formats.ts'
import { catalogAfterWrite } from '../catalog-after-write.ts'
import type { App } from '../schema.ts'
import { Data } from '../schema.ts'

const byId = (description: string) =>
  Type.Optional(
    Type.Unsafe<Record<string, boolean>>({
      type: 'object',
      additionalProperties: { type: 'boolean' },
      description,
    }),
  )

const records = {
  sets: byId('By canonical id: false hides the set with its cards and products'),
  cards: byId('By canonical id'),
  products: byId('By slug'),
}

const example = { sets: { swsh9: true }, cards: { 'swsh9-18': false } }

export function visibilityRoutes(app: App, ctx: Service): void {
  app.put(
    '/catalog/visibility',
    {
      // This process reloads its catalog after the commit, so the entry can't share the transaction.
      config: { audit: 'begun and ended' },
      schema: {
        operationId: 'changeVisibility',
        summary: 'Hide catalog records or show them again',
        description: `Hides (\`false\`) or shows (\`true\`) up to ${groupDigits(MAX_RECORDS)} sets, cards and sealed products, all or none; records that the body does not name stay as they are. A request for a hidden record gets 404. The record is in no list, count or search, and can’t be listed. A hidden set hides its cards and products too; these keep their own visibility for the time after. Existing listings of a hidden record stay with their sellers and can be sold by a checkout. When the response arrives, this process serves the change; others follow within seconds.`,
        tags: ['Catalog'],
        body: Type.Object(records, { examples: [example] }),
        response: {
          200: Data(
            Type.Object({
              changed: Type.Integer({ description: 'Number of records that were different' }),
              ...records,
            }),
            'The visibility of the named records',
          ),
        },
        'x-errors': ['validation_error'],
        'x-example': { data: { changed: 1, ...example } },
      },
    },
    async ({ body }) => {
      const of = (records: Record<string, boolean> = {}) => new Map(Object.entries(records))
      const { sets, cards, products } = body
      const changed = await changeVisibility(ctx, {
        sets: of(sets),
        cards: of(cards),
        products: of(products),
      })
      await catalogAfterWrite(ctx, ctx.catalog.refresh())
      return { data: { changed, sets, cards, products } }
    },
  )
}
