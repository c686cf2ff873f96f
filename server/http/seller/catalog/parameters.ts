import Type from 'typebox'
import { LANGUAGES } from '../../../enums.ts'
import { Text } from '../../schema.ts'

/** Parameters that several catalog operations share. */
export const languageParameter = Type.Optional(
  Text({
    maxLength: 5,
    description: `Language code of the set, exact: ${LANGUAGES.join(', ')}`,
    examples: ['EN'],
  }),
)

export const regionParameter = Type.Optional(
  Text({
    maxLength: 5,
    description: 'Region code of the set, exact, in lower case',
    examples: ['int'],
  }),
)

export const searchParameter = (what: string) =>
  Type.Optional(
    Text({
      maxLength: 100,
      description: `Search by ${what}: exact name first, then beginnings, words, parts and near spellings. Case, accents and apostrophes make no difference.`,
    }),
  )

export const includeParameter = (values: string) =>
  Type.Optional(
    Text({ description: `Comma-separated, no spaces: ${values}. Other values are ignored.` }),
  )
