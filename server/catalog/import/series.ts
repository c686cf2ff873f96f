/**
 * The published shortcuts of the bundled catalog's series (§2.2). A set creates its series with this shortcut; a `series`
 * line of an import overrides it.
 *
 * The shortcuts `cp` and `wc` are published too, but no bundled set belongs to them.
 */
export const SERIES_SHORTCUTS: ReadonlyMap<string, string> = new Map([
  ['Base', 'base'],
  ['Gym', 'gym'],
  ['Neo', 'neo'],
  ['E-Card', 'ecard'],
  ['EX', 'ex'],
  ['NP', 'np'],
  ['POP', 'pop'],
  ['Diamond & Pearl', 'dp'],
  ['Platinum', 'pl'],
  ['HeartGold & SoulSilver', 'hgss'],
  ['Black & White', 'bw'],
  ['XY', 'xy'],
  ['Sun & Moon', 'sm'],
  ['Sword & Shield', 'swsh'],
  ['Scarlet & Violet', 'sv'],
  ['Mega Evolution', 'me'],
])
