/** Orders texts by their characters' numbers: the same on every machine, whatever its language. */
export const compareTexts = (a: string, b: string): number => Number(a > b) - Number(a < b);
