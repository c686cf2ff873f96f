/** A delivery address (§2.8). */
export type Address = {
  full_name: string
  street: string
  house_number: string
  house_number_suffix: string | null
  zip: string
  city: string
  country: string
  phone: string | null
}
