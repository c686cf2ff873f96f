import Type, { type Static } from 'typebox'
import type { SeriesEntry } from '../../catalog/entries.ts'
import { component, Nullable } from '../schema.ts'

export const SeriesSchema = component(
  'Series',
  Type.Object(
    {
      name: Type.String(),
      shortcut: Nullable(Type.String(), {
        description: 'Curated code of the series; null if it has none',
      }),
      sets_count: Type.Integer({ description: 'Number of sets in this series, in all languages' }),
    },
    { description: 'A series: a family of sets.' },
  ),
)

export const seriesJson = ({
  name,
  shortcut,
  setsCount,
}: SeriesEntry): Static<typeof SeriesSchema> => ({
  name,
  shortcut,
  sets_count: setsCount,
})

export const exampleSeries = { name: 'Sword & Shield', shortcut: 'swsh', sets_count: 25 }
