/** A document of JSON that is stored and answered as it was written. */
export type JsonObject = Record<string, unknown>;
