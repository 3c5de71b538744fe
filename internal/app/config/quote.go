package config

import "strings"

// openQuote returns where a quote opens that its line does not close. The parser takes the lines
// below for a part of the text, and finds fault with the first quote after it.
func (doc *document) openQuote() (pos position, found bool) {
	for i, line := range doc.lines {
		if column := openQuoteIn([]rune(line)); column > 0 {
			return position{i + 1, column}, true
		}
	}
	return position{}, false
}

// openQuoteIn returns the column, from 1, of the quote that a line leaves open; 0 for none. A quote
// opens only where a value can begin, and a comment ends the line.
func openQuoteIn(line []rune) int {
	before := ' '
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '#' && (before == ' ' || before == '\t'):
			return 0
		case (c == '"' || c == '\'') && strings.ContainsRune(" \t[{,:", before):
			end := closing(line, i)
			if end < 0 {
				return i + 1
			}
			i = end
		}
		before = line[i]
	}
	return 0
}

// closing returns where the quoted text ends that begins at i; −1 if it does not.
func closing(line []rune, i int) int {
	quote := line[i]
	for i++; i < len(line); i++ {
		switch {
		case line[i] == '\\' && quote == '"':
			i++
		case line[i] == quote && quote == '\'' && i+1 < len(line) && line[i+1] == quote:
			i++
		case line[i] == quote:
			return i
		}
	}
	return -1
}
