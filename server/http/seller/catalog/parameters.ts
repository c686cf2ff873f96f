import Type from 'typebox'
import { LANGUAGES } from '../../../enums.ts'
import { Text } from '../../schema.ts'

/** Parameters that several catalog operations share. */
export const languageParameter = Type.Optional(
  Text({
    maxLength: 5,
    description: `Exact language code of the set: ${LANGUAGES.join(', ')}`,
    examples: ['EN'],
  }),
)

export const regionParameter = Type.Optional(
  Text({
    maxLength: 5,
    description: 'Exact region code of the set, in lower case',
    examples: ['int'],
  }),
)

export const searchParameter = (what: string, attributes = '') =>
  Type.Optional(
    Text({
      maxLength: 100,
      description: `Search by ${what}. Exact names come first, then prefixes, words, other parts and similar spellings. Case, accents and apostrophes are ignored.${attributes}`,
    }),
  )

export const includeParameter = (values: string) =>
  Type.Optional(
    Text({
      description: `Comma-separated list without spaces: ${values}. Other values are ignored.`,
    }),
  )
