import Type, { type Static } from 'typebox'
import type { ImportReport as Report } from '../../catalog/import/report.ts'
import { component } from '../schema.ts'

export const ImportReportSchema = component(
  'ImportReport',
  Type.Object(
    {
      created: Type.Integer(),
      updated: Type.Integer(),
      unchanged: Type.Integer(),
      rejected: Type.Integer(),
      errors: Type.Array(
        Type.Object({
          line: Type.Integer({ description: 'Line number, from 1' }),
          message: Type.String({
            description: 'Reason for the rejection. Names the record if the line can be parsed',
          }),
        }),
        { description: 'The first 100 rejected lines' },
      ),
      warnings: Type.Array(
        Type.Object({
          line: Type.Integer({ description: 'Line that has no effect' }),
          superseded_by: Type.Integer({
            description: 'Later line with the same key, which wins',
          }),
          message: Type.String({ description: 'Names the record and both lines' }),
        }),
        { description: 'The first 100 lines that a later line supersedes' },
      ),
    },
    {
      description:
        'The result of an import. Every line counts once; a superseded line counts as unchanged.',
    },
  ),
)

export const importReportJson = ({
  superseded: _,
  ...report
}: Report): Static<typeof ImportReportSchema> => report

export const exampleImportReport = {
  created: 186,
  updated: 0,
  unchanged: 1,
  rejected: 1,
  errors: [{ line: 12, message: 'card base99-1: set base99 is not in the catalog' }],
  warnings: [
    {
      line: 7,
      superseded_by: 31,
      message: 'card base1-4: line 7 is superseded by line 31',
    },
  ],
}
