/**
 * Whether a person has accepted the machine since its newest boot: that boot's verdict stays as it was, and the next one
 * is judged. A first boot that nobody has accepted is none of these. Pure.
 */
export function isAcceptedSince(accepted: { readonly by: string | null; readonly at: Date }, bootAt: Date): boolean {
  return accepted.by !== null && accepted.at > bootAt;
}
