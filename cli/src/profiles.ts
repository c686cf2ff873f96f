import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import path from 'node:path'

/** A marketplace and the key for it. `isOwn` if the key was created for this computer by `login`. */
export type Profile = { url: string; key: string; isOwn?: boolean }

type Stored = { current?: string; profiles: Record<string, Profile> }

export const DEFAULT_PROFILE = 'default'

const FILE = path.join(
  process.env.XDG_CONFIG_HOME || path.join(homedir(), '.config'),
  'cardstall',
  'config.json',
)

export async function readProfiles(): Promise<Stored> {
  try {
    return JSON.parse(await readFile(FILE, 'utf8'))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { profiles: {} }
    throw new Error(`${FILE} cannot be read: ${(error as Error).message}`)
  }
}

export async function saveProfile(name: string, profile: Profile): Promise<void> {
  const stored = await readProfiles()
  await write({ current: name, profiles: { ...stored.profiles, [name]: profile } })
}

/** Returns whether there was such a profile. */
export async function deleteProfile(name: string): Promise<boolean> {
  const { profiles } = await readProfiles()
  if (!profiles[name]) return false
  const { [name]: _, ...others } = profiles
  const [current] = Object.keys(others)
  await write({ ...(current === undefined ? {} : { current }), profiles: others })
  return true
}

/** Readable by its owner only, because it contains keys. */
async function write(stored: Stored): Promise<void> {
  await mkdir(path.dirname(FILE), { recursive: true, mode: 0o700 })
  await writeFile(FILE, `${JSON.stringify(stored, null, 2)}\n`, { mode: 0o600 })
  // The mode of `writeFile` has no effect on a file that exists.
  await chmod(FILE, 0o600)
}
