import type { Service } from '../../service.ts'
import { LABEL_FILE } from '../../shipping/label.ts'
import { labelFile } from '../../shipping/label-file.ts'
import { requireLink } from '../../shipping/label-link.ts'
import type { App } from '../schema.ts'
import { sendFile } from './send-file.ts'

/** Serves label PDFs to holders of a signed link (§4.13). A label shows an address, so no cache may store it. */
export function labelFileRoutes(app: App, ctx: Service): void {
  app.get<{ Params: { file: string } }>('/labels/:file', async (request, reply) => {
    const { file } = request.params
    requireLink(ctx, `/labels/${file}`, request.query as Record<string, unknown>)
    return sendFile(reply, LABEL_FILE.test(file) ? await labelFile(ctx, file) : undefined, {
      missing:
        'The file of this label is missing. Open the link again later; if it stays missing, ask the marketplace.',
      headers: {
        'content-type': 'application/pdf',
        'content-disposition': 'inline; filename="label.pdf"',
        'cache-control': 'no-store',
      },
    })
  })
}
