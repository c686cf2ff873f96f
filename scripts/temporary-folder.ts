import { chmod, mkdtemp, realpath } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * Creates a temporary folder for the data of a service. Every OS user can enter it, because if root starts the service,
 * PostgreSQL runs as another user.
 */
export async function temporaryFolder(purpose: string): Promise<string> {
  const folder = await mkdtemp(join(await realpath(tmpdir()), `cardstall-${purpose}-`))
  await chmod(folder, 0o755)
  return folder
}
