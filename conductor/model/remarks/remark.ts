/**
 * An explanation of why something waits, failed or remains: which of the sentences of `remark-words.ts` it is, about
 * whom, and the values in it. It is stored, answered and compared; it becomes text where somebody reads it.
 */
export interface Remark {
  /** A key of `remark-words.ts`; of a newer release maybe one that this one does not know. */
  readonly code: string;
  /** The name of the node, pod or group that it is about, where that isn't clear from where it stands. */
  readonly subject?: string;
  readonly arguments: { readonly [name: string]: RemarkValue };
}

export type RemarkValue = string | number | boolean | null | undefined | readonly string[] | readonly number[] | Remark;

/** Makes a remark of a plain text: an error's chain, or words that an earlier release has stored. */
export function textRemark(text: string): Remark {
  return { code: 'text', arguments: { text } };
}

/** Returns whether a value that was stored or answered is a remark. Pure. */
export function isRemark(value: unknown): value is Remark {
  if (typeof value !== 'object' || value === null || !('code' in value) || !('arguments' in value)) return false;
  return typeof value.code === 'string' && typeof value.arguments === 'object' && value.arguments !== null;
}

/** Returns the remark that an error is, beside its message (`details.remark`). Pure. */
export function remarkOf({ details }: { readonly details: Readonly<Record<string, unknown>> }): Remark | undefined {
  return isRemark(details['remark']) ? details['remark'] : undefined;
}

/** Returns a remark and those that it quotes. Pure. */
export function withQuoted(remark: Remark): Remark[] {
  return [remark, ...Object.values(remark.arguments).filter(isRemark).flatMap(withQuoted)];
}

/**
 * Returns a key that is equal for two remarks between which nothing has happened, whatever their seconds and counts. Pure.
 * @param progress names of arguments whose figures do count
 */
export function progressKey(remark: Remark, progress: readonly string[] = []): string {
  return JSON.stringify(remark, (name, value: unknown) =>
    typeof value === 'number' && !progress.includes(name) ? undefined : value,
  );
}
