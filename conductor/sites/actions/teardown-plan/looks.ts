/** An operator waits for it: what does not answer within it is told as such. Milliseconds. */
export const lookMs = 5_000;

/** What one kind of cluster, or one cluster, has of each node, by name. */
export interface Looks<What> {
  readonly nodes: ReadonlyMap<string, { readonly found: What; readonly wrong: readonly string[] }>;
  readonly wrong: readonly string[];
}
