import { beforeAll, describe, expect, it } from 'vitest'
import {
  type BrowserApp,
  chromiumPath,
  expectAccessible,
  holdRequests,
  holdResponse,
  loseResponse,
  startBrowserApp,
} from '../../test/browser.ts'
import { mailsTo, PASSWORD } from '../../test/fixtures/members.ts'
import { until } from '../../test/until.ts'

describe.skipIf(!chromiumPath)(
  'signing in and managing keys in a browser',
  { timeout: 120_000 },
  () => {
    let app: BrowserApp
    beforeAll(async () => {
      app = await startBrowserApp()
    })

    it('a key that was revoked elsewhere is shown as revoked after its rotation was refused', async () => {
      const seller = await app.seller()
      const member = await app.member(seller.accountId)
      const key = { name: 'Till', scopes: ['catalog:read'] }
      const { body } = await member.post('/dashboard/api/keys', { payload: key })
      const page = await app.open('/dashboard/keys', { member, expects: /status of 409/ })
      await page.getByRole('button', { name: 'Actions for Till' }).click()
      await page.getByRole('menuitem', { name: 'Rotate' }).click()
      await member.delete(`/dashboard/api/keys/${body.data.id}`)
      await page.getByRole('button', { name: 'Rotate key' }).click()
      await page.getByText('A revoked key cannot be rotated.').waitFor()
      await page.keyboard.press('Escape')
      await page
        .getByRole('row', { name: /Till/ })
        .getByText(/revoked/i)
        .waitFor()
    })

    it('a message above an open dialog can be closed, and leaves the dialog open', async () => {
      const page = await app.open('/dashboard/keys', { member: await app.member() })
      await page.getByRole('heading', { level: 1, name: 'Keys' }).waitFor()
      await page.evaluate('void (navigator.clipboard.writeText = () => Promise.reject())')
      await page.getByRole('link', { name: 'Create a key' }).click()
      await page.getByRole('textbox', { name: 'Name' }).fill('Till')
      await page.getByRole('dialog').getByText('Read the catalog').click()
      await page.getByRole('button', { name: 'Create key' }).click()
      await page.getByRole('button', { name: 'Copy' }).click()
      const message = page.getByText('Your browser does not allow copying here')
      await message.waitFor()
      await page.getByRole('button', { name: 'Close the message' }).click()
      await message.waitFor({ state: 'detached' })
      await page.getByRole('dialog').getByRole('button', { name: 'Done' }).waitFor()
    })

    it('a message about a success stays while it has the focus', async () => {
      const member = await app.member()
      await member.post('/dashboard/api/keys', {
        payload: { name: 'Till', scopes: ['catalog:read'] },
      })
      const page = await app.open('/dashboard/keys', { member })
      await page.getByRole('button', { name: 'Actions for Till' }).click()
      await page.getByRole('menuitem', { name: 'Revoke' }).click()
      await page.clock.install()
      await page.getByRole('button', { name: 'Revoke key' }).click()
      const message = page.getByText('The key was revoked.')
      const close = page.getByRole('button', { name: 'Close the message' })
      await close.focus()
      await page.clock.fastForward(60_000)
      await page.clock.runFor(1_000)
      expect(await message.count()).toBe(1)
      await close.blur()
      await page.clock.fastForward(60_000)
      await message.waitFor({ state: 'detached' })
    })

    it('a seller signs in, creates a key that works, rotates and revokes it', async () => {
      const { accountId } = await app.seller()
      const account = `/operator/v1/accounts/${accountId}`
      await app.operator.patch(account, { payload: { password: PASSWORD } })
      const { email } = (await app.operator.get(account)).body.data

      const page = await app.open('/signin?next=/dashboard/keys', {
        width: 360,
        expects: /40[14]|422/,
      })
      const signIn = async (password: string) => {
        await page.getByLabel('E-mail').fill(email)
        await page.getByLabel('Password').fill(password)
        await page.getByRole('button', { name: 'Sign in' }).click()
      }
      await expectAccessible(page)
      await signIn('wrong password')
      await page.getByText('E-mail or password is wrong.').waitFor()
      await expectAccessible(page)
      await signIn(PASSWORD)
      await page.getByRole('heading', { level: 1, name: 'Keys' }).waitFor()

      await page.getByRole('link', { name: 'Create a key' }).click()
      await page.getByRole('textbox', { name: 'Name' }).fill('Till')
      await page.getByRole('button', { name: 'Create key' }).click()
      await page.getByText('Choose at least one.').waitFor()
      expect(await page.getByRole('textbox', { name: 'Name' }).inputValue()).toBe('Till')
      await page.getByRole('dialog').getByText('Read the catalog').click()
      await expectAccessible(page)
      await page.getByRole('button', { name: 'Create key' }).click()
      const secret = (await page.locator('.secret code').textContent())!
      const status = async () => (await app.withKey(secret).get('/v1/me')).status
      expect(await status()).toBe(200)
      await expectAccessible(page)
      await page.getByRole('button', { name: 'Done' }).click()

      const actions = page.getByRole('button', { name: 'Actions for Till' })
      await actions.click()
      await page.getByRole('menuitem', { name: 'Rotate' }).click()
      await page.getByRole('button', { name: 'Rotate key' }).click()
      await page.getByText('The former secret works until').waitFor()
      await page.getByRole('button', { name: 'Done' }).click()
      expect(await status()).toBe(200)
      await actions.click()
      await page.getByRole('menuitem', { name: 'Revoke' }).click()
      await page.getByRole('button', { name: 'Revoke key' }).click()
      await page.getByText('The key was revoked.').waitFor()
      expect(await status()).toBe(401)
      await expectAccessible(page)
    })

    it('another attempt after a lost response creates no second key, and a rotation leaves the key in use valid', async () => {
      const member = await app.member()
      const page = await app.open('/dashboard/keys/new', { member, expects: /ERR_FAILED/ })
      const dialog = page.getByRole('dialog')
      const secret = page.locator('.secret code')
      await dialog.getByRole('textbox', { name: 'Name' }).fill('Till')
      await dialog.getByText('Read the catalog').click()
      await loseResponse(page, '**/dashboard/api/keys')
      await dialog.getByRole('button', { name: 'Create key' }).click()
      await dialog.getByText('The connection to the service was lost.').waitFor()
      await dialog.getByRole('button', { name: 'Create key' }).click()
      const first = (await secret.textContent())!
      await page.getByRole('button', { name: 'Done' }).click()
      const keys = (await member.get('/dashboard/api/keys')).body.data as { name: string }[]
      expect(keys.filter(({ name }) => name === 'Till')).toHaveLength(1)

      await page.getByRole('button', { name: 'Actions for Till' }).click()
      await page.getByRole('menuitem', { name: 'Rotate' }).click()
      await loseResponse(page, '**/rotate')
      await dialog.getByRole('button', { name: 'Rotate key' }).click()
      await dialog.getByText('The connection to the service was lost.').waitFor()
      await dialog.getByRole('button', { name: 'Rotate key' }).click()
      const second = (await secret.textContent())!
      for (const key of [first, second]) {
        expect((await app.withKey(key).get('/v1/me')).status).toBe(200)
      }
    })

    it('a key that is created during the first read of the keys is in the list, although that response is older', async () => {
      const page = await app.open('/dashboard', { member: await app.member() })
      const read = await holdResponse(page, '**/dashboard/api/keys', { method: 'GET' })
      await page.getByRole('link', { name: 'Keys' }).click()
      await read.ready
      await page.getByRole('link', { name: 'Create a key' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByRole('textbox', { name: 'Name' }).fill('Till')
      await dialog.getByText('Read the catalog').click()
      await dialog.getByRole('button', { name: 'Create key' }).click()
      await page.locator('.secret code').waitFor()
      read.release()
      await page.unrouteAll({ behavior: 'wait' })
      await page.getByRole('button', { name: 'Done' }).click()
      await page.getByRole('button', { name: 'Actions for Till' }).waitFor()
    })

    it('the dialog of a new key stays open while the key is created, and Back asks and doesn’t lose its secret', async () => {
      const member = await app.member()
      const page = await app.open('/dashboard/keys', { member })
      await page.getByRole('link', { name: 'Create a key' }).first().click()
      const dialog = page.getByRole('dialog')
      await dialog.getByText('Read the catalog').click()
      page.once('dialog', (question) => question.accept())
      await dialog.getByRole('button', { name: 'Cancel' }).click()
      await dialog.waitFor({ state: 'detached' })
      await page.goBack()
      expect(page.url()).not.toContain('/keys/new')
      await page.getByRole('link', { name: 'Create a key' }).first().click()
      await dialog.getByText('Read the catalog').click()
      const response = await holdResponse(page, '**/dashboard/api/keys', { method: 'POST' })
      await dialog.getByRole('button', { name: 'Create key' }).click()
      for (const name of ['Create key', 'Cancel', 'Close']) {
        await dialog.getByRole('button', { name, disabled: true }).waitFor()
      }
      await expectAccessible(page)
      await page.keyboard.press('Escape')
      expect(await dialog.count()).toBe(1)
      const questions: string[] = []
      page.once('dialog', (question) => {
        questions.push(question.message())
        return question.dismiss()
      })
      await page.evaluate('history.back()')
      await expect
        .poll(() => questions)
        .toEqual(['Leave this page? The service has not responded yet.'])
      expect(await dialog.count()).toBe(1)
      page.once('dialog', (question) => question.accept())
      await page.goBack()
      await dialog.waitFor({ state: 'detached' })
      response.release()
      const secret = (await page.locator('.secret code').textContent())!
      expect((await app.withKey(secret).get('/v1/me')).status).toBe(200)
    })

    /** Sends the form of a new key, and leaves its page for another one before the response. */
    const leaveNewKey = async (next: string) => {
      const page = await app.open('/dashboard/keys', { member: await app.member() })
      page.on('dialog', (question) => question.accept())
      const dialog = page.getByRole('dialog')
      await page.getByRole('link', { name: 'Create a key' }).first().click()
      await dialog.getByText('Read the catalog').click()
      const request = await holdRequests(page, '**/dashboard/api/keys', { method: 'POST' })
      await dialog.getByRole('button', { name: 'Create key' }).click()
      await request.sent
      await page.goBack()
      await dialog.waitFor({ state: 'detached' })
      await page.getByRole('link', { name: next }).click()
      return { page, request }
    }

    it('the secret of a key whose response comes after Back is shown on the other pages of the keys', async () => {
      const { page, request } = await leaveNewKey('Connected programs')
      const url = page.url()
      request.release()
      await page.locator('.secret code').waitFor()
      await page.getByRole('button', { name: 'Done' }).click()
      await page.unrouteAll({ behavior: 'wait' })
      expect(page.url()).toBe(url)
    })

    it('a key whose response comes after Back does not change a page of another kind, where a message says that its secret is lost', async () => {
      const { page, request } = await leaveNewKey('Orders')
      const search = page.getByRole('searchbox')
      await search.fill('Misty')
      // The text takes effect, and changes the address, shortly after the last key.
      await page.waitForURL(({ search }) => search === '?buyer=Misty')
      const url = page.url()
      request.release()
      await page.getByText(/secret can no longer be shown/).waitFor()
      expect(await search.inputValue()).toBe('Misty')
      await page.unrouteAll({ behavior: 'wait' })
      expect(page.url()).toBe(url)
    })

    it('a message says that a key could not be revoked if its page was left meanwhile', async () => {
      const member = await app.member()
      const payload = { name: 'Till', scopes: ['catalog:read'] }
      await member.post('/dashboard/api/keys', { payload })
      const page = await app.open('/dashboard', { member, expects: /ERR_FAILED/ })
      page.on('dialog', (question) => question.accept())
      await page.getByRole('link', { name: 'Keys' }).click()
      await page.getByRole('button', { name: 'Actions for Till' }).click()
      await page.getByRole('menuitem', { name: 'Revoke' }).click()
      const sent = Promise.withResolvers<void>()
      const lost = Promise.withResolvers<void>()
      await page.route('**/dashboard/api/keys/*', async (route) => {
        sent.resolve()
        await lost.promise
        await route.abort()
      })
      await page.getByRole('button', { name: 'Revoke key' }).click()
      await sent.promise
      await page.goBack()
      await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
      lost.resolve()
      await page
        .getByRole('status')
        .getByText(/connection to the service was lost/)
        .waitFor()
    })

    it('an invited person, whose address needs no ASCII, chooses a password, forgets it, and signs in with another', async () => {
      const { accountId } = await app.seller()
      const email = 'érika@müller.example'
      await app.operator.post(`/operator/v1/accounts/${accountId}/invitations`, {
        payload: { email },
      })
      /** Opens the link of the person's only e-mail about it, and chooses a password by keyboard. */
      const choose = async (path: string, password: string) => {
        const mail = await until(`an e-mail with ${path}`, async () =>
          (await mailsTo(app, email)).find(({ text }) => text.includes(path)),
        )
        await page.goto(mail.text.match(/https?:\S+/)![0])
        await page.getByText(email).waitFor()
        await expectAccessible(page)
        await page.getByLabel('New password').fill(password)
        await page.keyboard.press('Enter')
        await page.getByRole('heading', { name: 'Your password is saved' }).waitFor()
        await page.getByRole('link', { name: 'Sign in' }).click()
      }
      const page = await app.open('/signin', { width: 360, expects: /40[14]|422/ })
      await choose('/invitation', 'a first password')
      await page.getByRole('link', { name: /Forgot/ }).click()
      await page.getByLabel('E-mail').fill(email)
      await expectAccessible(page)
      await page.keyboard.press('Enter')
      await page.getByRole('heading', { name: 'Look into your mailbox' }).waitFor()
      await choose('/password/reset', 'a second password')
      await page.getByLabel('E-mail').fill(email)
      await page.getByLabel('Password').fill('a second password')
      await page.keyboard.press('Enter')
      await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
    })

    it('a double click on End ends one session, also if the next one has moved under the pointer', async () => {
      const member = await app.member()
      for (const browser of ['Firefox/151.0', 'Firefox/152.0']) {
        const other = await app.member()
        await app.ctx.db`
          update member_sessions
          set member_id = ${member.memberId}, user_agent = ${`Mozilla/5.0 (X11; Linux) ${browser}`}
          where member_id = ${other.memberId}
        `
      }
      const page = await app.open('/dashboard/keys/sessions', { member })
      // No time passes between the two presses.
      await page.clock.setFixedTime(Date.now())
      const ends = page.getByRole('button', { name: 'End the session of Firefox' })
      const { x, y, width, height } = (await ends.first().boundingBox())!
      await page.mouse.move(x + width / 2, y + height / 2)
      for (const clickCount of [1, 2]) {
        await page.mouse.down({ clickCount })
        await page.mouse.up({ clickCount })
        await page.getByRole('row').nth(3).waitFor({ state: 'detached' })
      }
      await page.reload()
      await page.getByText('This browser').waitFor()
      expect(await ends.count()).toBe(1)
    })

    it('a member ends another session, and is signed out when this one ends elsewhere', async () => {
      const member = await app.member()
      const other = await app.member()
      await app.ctx.db`
      update member_sessions
      set member_id = ${member.memberId}, user_agent = 'Mozilla/5.0 (X11; Linux) Firefox/151.0'
      where member_id = ${other.memberId}
    `
      const page = await app.open('/dashboard/keys/sessions', { member, expects: /40[14]|422/ })
      await page.getByText('Firefox on Linux').waitFor()
      await expectAccessible(page)
      await page.getByRole('button', { name: 'End the session of Firefox on Linux' }).click()
      await page.getByText('Firefox on Linux').waitFor({ state: 'detached' })
      await app.ctx.db`delete from member_sessions where member_id = ${member.memberId}`
      await page.reload()
      await page.waitForURL('**/signin?next=%2Fdashboard%2Fkeys%2Fsessions')
    })
  },
)
