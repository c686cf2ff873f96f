/** Some browsers read the file only after their question where to save it. */
const READ_MS = 60_000

/** Saves a file that the page has made or read, as a download. */
export function saveFile(file: Blob, name: string): void {
  const url = URL.createObjectURL(file)
  openFile(url, name)
  setTimeout(URL.revokeObjectURL, READ_MS, url)
}

/** Downloads a file, as a press of a link to it does. Its response may name it. */
export function openFile(url: string, name = ''): void {
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
}
