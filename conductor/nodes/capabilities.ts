/**
 * Ironic's capabilities, `name:value,name:value`, with one of them set anew. An object, which some operators write in
 * its place, becomes text too.
 */
export function withCapability(capabilities: unknown, name: string, value: string): string {
  const given =
    typeof capabilities === 'object' && capabilities !== null
      ? Object.entries(capabilities).map(([key, each]) => `${key}:${String(each)}`)
      : String(capabilities ?? '').split(',');
  const others = given.map((each) => each.trim()).filter((each) => each !== '' && !each.startsWith(`${name}:`));
  return [...others, `${name}:${value}`].join(',');
}
