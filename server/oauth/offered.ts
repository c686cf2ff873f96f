import type { Config } from '../config.ts'

/** Whether programs can sign in: a token must not travel over plain http, except in the sandbox. */
export const offersOAuth = ({ sandbox, publicUrl }: Pick<Config, 'sandbox' | 'publicUrl'>) =>
  sandbox || publicUrl.startsWith('https:')
