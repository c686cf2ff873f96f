import { refused } from './numbers.ts'

/** The checked values of a group of checkboxes. @throws ApiError if none is checked */
export function readChoices(data: FormData, name: string): string[] {
  const chosen = data.getAll(name).map(String)
  if (chosen.length === 0) throw refused(name, 'Choose at least one.')
  return chosen
}
