import { readFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import path from 'node:path'
import { replaceFile } from './files.ts'

/** A marketplace and the key for it. `isOwn` if the key was created for this computer by `login`. */
export type Profile = { url: string; key: string; isOwn?: boolean }

type Stored = { current?: string; profiles: Record<string, Profile> }

const DEFAULT_PROFILE = 'default'

export const FOLDER = path.join(
  process.env.XDG_CONFIG_HOME || path.join(homedir(), '.config'),
  'cardstall',
)
const FILE = path.join(FOLDER, 'config.json')

export async function readProfiles(): Promise<Stored> {
  const text = await readFile(FILE, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '{}'
    throw error
  })
  try {
    const { current, profiles = {} } = JSON.parse(text) as Stored
    for (const { url, key } of Object.values(profiles)) {
      if (typeof url !== 'string' || typeof key !== 'string') throw new TypeError()
    }
    // A name such as "constructor" is none of a profile.
    return { current, profiles: Object.assign(Object.create(null), profiles) }
  } catch {
    throw new Error(`${FILE} is damaged: delete it, and run "cardstall login" again.`)
  }
}

/** The profile of a command. `stored` is undefined if it does not exist yet. */
export type ChosenProfile = {
  name: string
  stored: Profile | undefined
  environment: NodeJS.ProcessEnv
}

/**
 * The profile of a command: that of `--profile`, of the last login, or `default`. One that is named and stored comes before
 * the environment, which is empty then.
 */
export async function chosenProfile(given: string | undefined): Promise<ChosenProfile> {
  const { current, profiles } = await readProfiles()
  const name = given ?? current ?? DEFAULT_PROFILE
  const stored = profiles[name]
  return { name, stored, environment: given !== undefined && stored ? {} : process.env }
}

/** Stores a profile and makes it the current one. Returns the one that it replaces. The key of a login stays its own. */
export async function saveProfile(name: string, profile: Profile): Promise<Profile | undefined> {
  const { profiles } = await readProfiles()
  const former = profiles[name]
  const isOwn = profile.isOwn || (former?.isOwn && former.key === profile.key)
  await write({
    current: name,
    profiles: { ...profiles, [name]: { ...profile, ...(isOwn && { isOwn }) } },
  })
  return former
}

/** Deletes a profile. After the current one, the first of the others is current. Returns the name of the current one. */
export async function deleteProfile(name: string): Promise<string | undefined> {
  const { current: former, profiles } = await readProfiles()
  const { [name]: _, ...others } = profiles
  const current = former === name ? Object.keys(others)[0] : former
  await write({ ...(current === undefined ? {} : { current }), profiles: others })
  return current
}

const write = (stored: Stored) => replaceFile(FILE, `${JSON.stringify(stored, null, 2)}\n`)
