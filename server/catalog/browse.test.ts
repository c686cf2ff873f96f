import { expect, it } from 'vitest'
import { startTestApp } from '../test/app.ts'
import { browseCards } from './browse.ts'

it('a filtered list is kept for its next pages, and the least recently used ones are forgotten, even if they are empty', async () => {
  const app = await startTestApp({ template: 'fixture' })
  const catalog = app.ctx.catalog.current
  const inEnglish = () => browseCards(catalog, { language: 'EN' })
  const first = inEnglish()
  const found = browseCards(catalog, { q: 'charizard' })
  for (let i = 0; i < 40_000; i++) {
    browseCards(catalog, { rarity: `no such rarity ${i}` })
    if (inEnglish() !== first) throw new Error('A list that is in use was forgotten.')
  }
  const again = browseCards(catalog, { q: 'charizard' })
  expect(again).not.toBe(found)
  expect(again).toEqual(found)
})

it('a kept list is found only by the filter that it was made with, not by another one with the same text', async () => {
  const app = await startTestApp({ template: 'fixture' })
  const catalog = app.ctx.catalog.current
  expect(browseCards(catalog, { language: 'EN' })).not.toEqual([])
  const others = [{ region: 'EN' }, { rarity: 'EN' }, { language: 'EN', rarity: 'undefined' }]
  for (const filters of others) expect(browseCards(catalog, filters)).toEqual([])
})
