/** A document of JSON that is stored and answered as it was written. */
export type JsonObject = Record<string, unknown>;

/** Recognizes an object, which is no list. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
