/**
 * The published shortcuts of the series that the bundled catalog knows (§2.2). A set that names one of these
 * brings it into the catalog with its shortcut; a `series` line of an import has the last word.
 *
 * `cp` and `wc` are published too, but no set of ours belongs to them.
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
