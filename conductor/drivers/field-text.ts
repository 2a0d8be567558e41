/** A value of `driver_info` as text: numbers may come as either. Of what is neither, nothing. */
export function fieldText(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}
