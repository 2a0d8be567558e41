/** Lists of ports, as lines have them that stand outside a port's own: `Ethernet1,3/1-4`, `Gi1/0/1 - 4 , Gi1/0/7`. Pure. */

/** Letters, perhaps left out behind a comma; numbers before the last; the last number; perhaps the end of a range. */
const part = /^([A-Za-z-]*?) ?((?:\d+[/:])*)(\d+)(?: ?- ?(?:[A-Za-z-]*? ?)((?:\d+[/:])*)(\d+))?$/;

/**
 * Whether the list may mean the port. A form that is not known may mean any.
 * @param longName of a port whose kind is shortened; a kind that it does not know becomes `?`
 */
export function mayBeListed(list: string, portId: string, longName = (name: string): string => name): boolean {
  const [, portKind = '', portHead = '', portNumber] = part.exec(portId) ?? [];
  let kind = '';
  return list.split(',').some((each) => {
    const [, letters = '', head = '', first, lastHead = '', last = first] = part.exec(each.trim()) ?? [];
    if (letters !== '') kind = longName(`${letters}1`).slice(0, -1).toLowerCase();
    if (first === undefined || kind === '' || kind === '?' || (lastHead !== '' && lastHead !== head)) return true;
    const number = Number(portNumber);
    return (
      portKind.toLowerCase().startsWith(kind) && head === portHead && number >= Number(first) && number <= Number(last)
    );
  });
}

/** Lines of sessions that copy frames to ports; those without a port are told apart. */
const destination = /\bdestination (?:interface )?(.+?)(?: (?:encapsulation|ingress) .*)?$/;
const withoutPort = /^(cpu|remote vlan \d+|tunnel .*|ip .*)$/;

/** Picks, of lines about `monitor session`, those that may make the port the destination of others' frames. */
export function mirrorLines(
  lines: readonly string[],
  portId: string,
  longName?: (name: string) => string,
): readonly string[] {
  return lines.filter((line) => {
    const list = destination.exec(line)?.[1];
    return list !== undefined && !withoutPort.test(list) && mayBeListed(list, portId, longName);
  });
}
