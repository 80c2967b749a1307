"""Word problems of our own, two to eight steps each, with answers computed by code. Used by tools/make_items.py."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

Made = tuple[str, int]
Maker = Callable[[Random, str, str], Made]

NAMES = "Amara Bruno Chiara Deniz Elif Farid Greta Hugo Ines Jonas Kaya Leif Mila Nuru Olga Pavel Quinn Rosa Sven Tala".split()


def two_steps(r: Random, a: str, b: str) -> Made:
    n, m, k = r.randint(12, 40), r.randint(3, 11), r.randint(5, 19)
    text = (
        f"{a} picks {n} pears and gives {m} to {b}. Then {a} finds {k} more on the ground and keeps them. How many pears does {a} have now?"
    )
    return text, n - m + k


def lamps(r: Random, a: str, b: str) -> Made:
    rooms, lamps_, bulbs, spare = r.randint(4, 9), r.randint(2, 5), r.randint(2, 4), r.randint(3, 12)
    text = (
        f"A hotel floor has {rooms} rooms. Each room has {lamps_} lamps, and each lamp takes {bulbs} bulbs. {a} also wants {spare} spare bulbs. "
        "How many bulbs must be bought?"
    )
    return text, rooms * lamps_ * bulbs + spare


def savings(r: Random, a: str, b: str) -> Made:
    week, weeks, spent = r.randint(15, 40), r.randint(6, 12), r.randint(20, 60)
    goal = week * weeks + r.randint(50, 200)
    text = (
        f"{a} saves {week} dollars a week for {weeks} weeks, and spends {spent} dollars of the savings on a present for {b}. "
        f"A bicycle costs {goal} dollars. How many dollars is {a} still short of?"
    )
    return text, goal - (week * weeks - spent)


def train(r: Random, a: str, b: str) -> Made:
    speed, hours, later, more = 10 * r.randint(5, 12), r.randint(2, 4), 10 * r.randint(3, 9), r.randint(2, 5)
    stop = 10 * r.randint(1, 5)
    text = (
        f"A train runs {hours} hours at {speed} km per hour, and then {more} hours at {later} km per hour. "
        f"{b} gets off {stop} km before the train ends its run. How many kilometres did {b} travel, if {b} got on at the start?"
    )
    return text, speed * hours + later * more - stop


def bakery(r: Random, a: str, b: str) -> Made:
    trays, rolls, eaten, bag, price = r.randint(5, 9), 12, r.randint(1, 2), 6, r.randint(3, 6)
    whole = trays * rolls - eaten * bag
    text = (
        f"{a} bakes {trays} trays of {rolls} rolls. {eaten * bag} rolls get burnt. The others are packed into bags of {bag}, and each bag is sold "
        f"for {price} dollars. {b} buys half of all bags. How many dollars does {a} take for the other bags?"
    )
    bags = whole // bag
    return (text, (bags - bags // 2) * price) if bags % 2 == 0 else bakery(r, a, b)


def school(r: Random, a: str, b: str) -> Made:
    classes, each, teachers, seats = r.randint(4, 7), r.randint(18, 26), r.randint(6, 10), r.randint(40, 52)
    people = classes * each + teachers
    text = (
        f"{classes} classes of {each} pupils each and {teachers} teachers go on a trip. "
        f"A bus has {seats} seats, and as few buses as possible are hired. "
        "How many seats stay empty in all?"
    )
    return text, -(-people // seats) * seats - people


def fence(r: Random, a: str, b: str) -> Made:
    width, length, gate, gap, price = 2 * r.randint(6, 12), 2 * r.randint(13, 20), 4, 2, r.randint(3, 8)
    around = 2 * (width + length)
    text = (
        f"A garden is {width} m wide and {length} m long. {a} puts a fence all around it, but leaves {gate} m open for a gate. "
        f"The fence is sold in pieces of {gap} m for {price} dollars a piece. The gate itself costs 5 times as much as a piece. "
        "How many dollars do fence and gate cost together?"
    )
    return text, (around - gate) // gap * price + 5 * price


def ages(r: Random, a: str, b: str) -> Made:
    young, gap, later = r.randint(6, 12), r.randint(3, 9), r.randint(4, 10)
    text = f"{a} is {young} years old. {b} is {gap} years older than twice the age of {a}. How old will {a} and {b} be together in {later} years?"
    return text, young + 2 * young + gap + 2 * later


def shop(r: Random, a: str, b: str) -> Made:
    pens, pen, books, book = r.randint(3, 7), r.randint(2, 4), r.randint(2, 5), r.randint(6, 14)
    off = 10 * r.randint(1, 4)
    total = pens * pen + books * book
    if (total * off) % 100:
        return shop(r, a, b)
    paid = total - total * off // 100
    note = paid + r.randint(3, 25)
    text = (
        f"{a} buys {pens} pens at {pen} dollars each and {books} books at {book} dollars each. The shop takes {off} percent off the whole bill. "
        f"{a} pays with {note} dollars and gives half of the change to {b}. How many dollars does {b} get?"
    )
    return (text, (note - paid) // 2) if (note - paid) % 2 == 0 else shop(r, a, b)


def orchard(r: Random, a: str, b: str) -> Made:
    trees, crates, kilos, rotten = r.randint(6, 12), r.randint(2, 4), 10 * r.randint(1, 3), r.randint(5, 9)
    price, pay, hours = r.randint(2, 4), r.randint(9, 15), r.randint(3, 6)
    good = trees * crates * kilos - trees * rotten
    text = (
        f"An orchard has {trees} apple trees. Each tree gives {crates} crates of {kilos} kg, "
        f"but {rotten} kg from each tree are rotten and thrown away. "
        f"The rest is sold for {price} dollars a kilogram. {a} and {b} each worked {hours} hours for {pay} dollars an hour, which the owner pays. "
        "How many dollars are left for the owner?"
    )
    return text, good * price - 2 * hours * pay


def tank(r: Random, a: str, b: str) -> Made:
    fill, leak, minutes, cup = r.randint(12, 20), r.randint(2, 5), r.randint(10, 30), r.randint(2, 4)
    persons, start = r.randint(3, 8), r.randint(20, 60)
    text = (
        f"A tank holds {start} litres. Water runs in at {fill} litres a minute and leaks out at {leak} litres a minute. After {minutes} minutes "
        f"the tap is closed and the leak is mended. Then {persons} people take {cup} buckets of 5 litres each. How many litres are left?"
    )
    return text, start + (fill - leak) * minutes - persons * cup * 5


def cards(r: Random, a: str, b: str) -> Made:
    start, third, won = 3 * r.randint(12, 30), 3, r.randint(8, 20)
    text = (
        f"{a} has {start} cards and gives a third of them to {b}. Then {a} wins {won} cards, and after that doubles what is left by a trade. "
        f"{b} had 10 cards at first. How many more cards than {b} does {a} have at the end?"
    )
    return text, 2 * (start - start // third + won) - (10 + start // third)


def reading(r: Random, a: str, b: str) -> Made:
    day, days, rest = r.randint(14, 28), r.randint(5, 9), r.randint(30, 90)
    text = f"{a} reads {day} pages a day for {days} days. Then {rest} pages of the book are left. How many pages does the book have?"
    return text, day * days + rest


def concert(r: Random, a: str, b: str) -> Made:
    rows, seats, child, adult = r.randint(10, 16), r.randint(12, 20), r.randint(4, 7), r.randint(9, 15)
    empty, rent, band = r.randint(5, 25), 100 * r.randint(2, 5), 100 * r.randint(3, 6)
    kids = 10 * r.randint(3, 6)
    sold = rows * seats - empty
    text = (
        f"A hall has {rows} rows of {seats} seats. For a concert all but {empty} seats are sold: "
        f"{kids} of them to children at {child} dollars, the others to "
        f"adults at {adult} dollars. The rent of the hall is {rent} dollars, and the band gets {band} dollars. {a} and {b} share what is left "
        "in the proportion 1 to 1 after putting 100 dollars aside. How many dollars is the amount that the two share?"
    )
    return text, kids * child + (sold - kids) * adult - rent - band - 100


def knitting(r: Random, a: str, b: str) -> Made:
    scarf, hat, balls, price = r.randint(3, 5), 2, r.randint(2, 6), r.randint(4, 9)
    scarves, hats = r.randint(3, 6), r.randint(4, 9)
    need = scarf * scarves + hat * hats - balls
    text = (
        f"A scarf takes {scarf} balls of wool, and a hat takes {hat}. {a} wants to knit {scarves} scarves and {hats} hats, "
        f"and has {balls} balls at home. "
        f"A ball costs {price} dollars. How many dollars does {a} have to spend on wool?"
    )
    return text, need * price


MAKERS: tuple[Maker, ...] = (
    two_steps, reading, lamps, savings, train, ages, school, cards, knitting, bakery, fence, shop, tank, orchard, concert,
)  # fmt: skip


def arithmetic(r: Random) -> list[Made]:
    """Thirty problems, every template twice, easier ones first."""
    made = []
    for maker in MAKERS:
        for _ in range(2):
            a, b = r.sample(NAMES, 2)
            made.append(maker(r, a, b))
    assert all(answer > 0 for _, answer in made)
    assert len({text for text, _ in made}) == 30
    return made
