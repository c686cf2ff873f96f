import { CONSOLE, SERVICE } from '../base.ts'
import { callApi } from '../client.ts'
import { start } from '../start.tsx'
import { Console } from './console.tsx'
import { session } from './session.ts'
import './console.css'

callApi({
  address: `${SERVICE}operator/v1/`,
  token: session.token,
  onUnauthorized: session.end,
})

start('console', CONSOLE, <Console />)
